"""A batch of TrainJobs: `batch` is what the engine asks of it, `result_gate` of its gate and that of a TrainJob."""
