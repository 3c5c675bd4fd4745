"""Engine `controller`: runs are TrainJobs of the cluster, which Kubeflow Trainer's controller drives."""
