"""Pulumi's side: TrainJob and its gate as dynamic resources. The only room that imports Pulumi.

`resources` is what a program constructs; `provider` is what the engine calls; `inputs` and
`changes` decide, without I/O.
"""
