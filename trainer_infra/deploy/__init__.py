"""Pulumi's side: our resources, and the dynamic providers that the engine calls for them.

`train_job_resource` and its siblings are what a program constructs, `operations` decides without
Pulumi, `provider` and `boundary` are the edge between the two.
"""
