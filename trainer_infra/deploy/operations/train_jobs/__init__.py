"""A batch of TrainJobs: `batch` and `batch_result` are what the engine asks of it and of its gate."""
