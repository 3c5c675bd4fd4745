"""The types of the published `kubeflow` SDK 0.5, as a TrainJob takes them: each becomes what is ours of it."""
