"""The quickstart: train a small model on real data, with two processes, by `pulumi up`."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob

config = pulumi.Config("quickstart")
framework, epochs = config.require("framework"), config.get_int("epochs") or 30
packages = {"jax": "jax[cpu]==0.10.2", "torch": "torch==2.15.0"}
trainer = CustomTrainer(
    f"training:train_{framework}:train",
    func_args={"epochs": epochs},
    num_nodes=2,
    resources_per_node={"cpu": 1},
    packages=[packages[framework], "scikit-learn==1.9.1"],
)
job = TrainJob("digits", runtime=f"{framework}-distributed", trainer=trainer, wait_for="complete")
pulumi.export("run", job.name)
pulumi.export("accuracy", job.metrics["accuracy"])
