"""TrainJobs as pods: what every engine on Kubernetes needs to ask and to observe.

An engine is a folder of its own: `provider` writes runs from Pulumi and from the command line, with
nothing of ours running in the cluster.
"""
