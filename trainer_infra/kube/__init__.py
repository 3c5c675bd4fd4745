"""The only room that talks to an API server: the protocol of a client, and the real one.

For drivers that run on Kubernetes. Values in and out are objects in wire form; what the
server refuses is one of `kube.refusals`.
"""
