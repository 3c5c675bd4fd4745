"""A batch of TrainJobs: `batch` is what the engine asks of it."""
