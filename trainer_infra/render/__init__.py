"""TrainJob + runtime -> the exact Kubernetes objects. Pure; no I/O.

`pipeline.render` is the one way in. It makes a Draft (`resolve`), lets each plugin of
`plugins.PLUGINS` work on it phase by phase (`phases`), and returns the objects in apply order.
Where that is better than the reference it is a named `deviation`, which a `behaviour` can leave out.
"""
