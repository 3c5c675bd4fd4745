"""Trains one network on two nodes, each with its own half of the rows."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob

trainer = CustomTrainer(
    "train.py:train",
    func_args={"epochs": 10, "rate": 0.01},
    num_nodes=2,
    packages=["torch==2.15.0", "scikit-learn==1.9.1"],
    image_has_packages=["torch"],
)
job = TrainJob("digits", runtime="torch-distributed", trainer=trainer, wait_for="complete")
pulumi.export("accuracy", job.metrics["accuracy"])
