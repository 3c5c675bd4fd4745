"""The manager that runs in a cluster: it executes `lifecycle.plan` for every TrainJob.

`trainer-infra controller` starts it. What is decided is decided in `lifecycle`; here is what observes
the cluster, writes what was decided, judges what is stored and takes reports.
"""
