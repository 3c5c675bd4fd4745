"""Boosts trees on two nodes, each with its own half of the rows, and keeps the model."""

import pulumi

from trainer_infra import TrainJob, XGBoost

trainer = XGBoost(
    "train.py:train",
    parameters={"objective": "multi:softmax", "num_class": 10, "max_depth": 4, "eta": 0.5},
    rounds=20,
    num_nodes=2,
    packages=["xgboost-cpu==3.2.0", "scikit-learn==1.9.1"],
)
job = TrainJob(
    "digits",
    runtime="xgboost-distributed",
    trainer=trainer,
    outputs=["model"],
    wait_for="complete",
)
pulumi.export("accuracy", job.metrics["accuracy"])
pulumi.export("model", job.outputs["model"])
