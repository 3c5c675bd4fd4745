"""Trains a network whose weights are divided among two processes, and keeps the whole of it."""

import pulumi

from trainer_infra import Fsdp2, TrainJob

trainer = Fsdp2(
    "train.py:train",
    func_args={"epochs": 10, "rate": 0.01},
    num_proc_per_node=2,
    packages=["torch==2.15.0", "scikit-learn==1.9.1"],
    image_has_packages=["torch"],
)
job = TrainJob(
    "digits",
    runtime="torch-distributed",
    trainer=trainer,
    outputs=["model"],
    wait_for="complete",
)
pulumi.export("accuracy", job.metrics["accuracy"])
pulumi.export("model", job.outputs["model"])
