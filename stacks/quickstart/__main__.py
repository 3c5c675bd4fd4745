"""The quickstart: train a small model on real data, with two processes, by `pulumi up`."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob

config = pulumi.Config("quickstart")
framework = config.require("framework")
packages = {"jax": "jax[cpu]==0.10.2", "torch": "torch==2.15.0"}

job = TrainJob(
    "digits",
    runtime=f"{framework}-distributed",
    trainer=CustomTrainer(
        f"train_{framework}.py:train",
        func_args={"epochs": config.get_int("epochs") or 30},
        num_nodes=2,
        resources_per_node={"cpu": 1},
        packages=[packages[framework], "scikit-learn==1.9.1"],
    ),
    wait_for="complete",
)
pulumi.export("run", job.name)
pulumi.export("accuracy", job.metrics["accuracy"])
