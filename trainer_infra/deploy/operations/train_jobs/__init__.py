"""A batch of TrainJobs: `batch` and `gate` are what the engine asks of it and of its result."""
