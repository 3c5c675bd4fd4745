"""A team's workspace on the platform of another stack, and a job in its queue."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob, platform

config = pulumi.Config("team")
plane = pulumi.StackReference(config.require("platform"))
team = platform.Workspace(
    config.require("name"),
    flavors=plane.require_output("flavors"),
    **config.require_object("workspace"),
)
trainer = CustomTrainer(
    "../quickstart/training:train_jax:train",
    func_args={"epochs": config.get_int("epochs") or 30},
    num_nodes=2,
    image=config.get("image"),
    env=config.get_object("env"),
    resources_per_node=config.get_object("resources") or {"cpu": 1, "memory": "2Gi"},
)
job = TrainJob(
    "digits",
    runtime="jax-distributed",
    trainer=trainer,
    namespace=team.namespace,
    labels={"kueue.x-k8s.io/queue-name": team.queue, "kueue.x-k8s.io/priority-class": "normal"},
    runtime_patches=config.get_object("patches"),
    wait_for="complete",
    opts=pulumi.ResourceOptions(depends_on=[team]),
)
pulumi.export("run", job.name)
pulumi.export("accuracy", job.metrics["accuracy"])
