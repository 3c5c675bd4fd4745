"""The driver of engine `provider`: TrainJobs as pods, with nothing of ours running in the cluster.

Called by `deploy` and `cli` through `runs.Cluster`. A run is a record (a ConfigMap) and the objects
that it owns; what is known of it is read from the record, its JobSet and its pods.
"""
