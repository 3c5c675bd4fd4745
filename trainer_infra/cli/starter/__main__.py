"""Trains a model when you run `pulumi up`, and hands its accuracy on as an output."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob

job = TrainJob(
    "english",
    runtime="plain-distributed",
    trainer=CustomTrainer("train.py:train", func_args={"epochs": 5, "rate": 0.01}),
    wait_for="complete",
)
pulumi.export("run", job.name)
pulumi.export("accuracy", job.metrics["accuracy"])
