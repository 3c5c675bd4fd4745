"""Trains on the devices of two nodes as one mesh."""

import pulumi

from trainer_infra import Jax, TrainJob

trainer = Jax(
    "train.py:train",
    func_args={"steps": 200, "rate": 0.5},
    num_nodes=2,
    packages=["jax[cpu]==0.10.2", "scikit-learn==1.9.1"],
)
job = TrainJob("digits", runtime="jax-distributed", trainer=trainer, wait_for="complete")
pulumi.export("accuracy", job.metrics["accuracy"])
pulumi.export("loss", job.metrics["loss"])
