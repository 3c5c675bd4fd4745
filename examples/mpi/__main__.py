"""Trains on three nodes that mpirun starts a rank on, by what MPI alone has: they add their gradients."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob

trainer = CustomTrainer(
    "train.py:train",
    func_args={"steps": 200, "rate": 0.5},
    num_nodes=3,
    packages=["mpi4py==4.1.2", "scikit-learn==1.9.1"],
)
job = TrainJob("digits", runtime="deepspeed-distributed", trainer=trainer, wait_for="complete")
pulumi.export("accuracy", job.metrics["accuracy"])
pulumi.export("ranks", job.metrics["ranks"])
