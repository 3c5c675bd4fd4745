"""What a user runs: CustomTrainer and Secret, made into the code and the spec of a TrainJob."""
