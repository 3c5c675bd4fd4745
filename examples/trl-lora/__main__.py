"""Tunes a language model with LoRA: one job makes a tiny model and its data, the next one tunes it."""

import pulumi

from trainer_infra import CustomTrainer, TrainJob, Trl

PACKAGES = ["trl==1.16.0", "peft==0.21.2", "torch==2.15.0"]
IN_IMAGE = ["torch"]

made = TrainJob(
    "tiny-llama",
    runtime="torch-distributed",
    trainer=CustomTrainer(
        "tiny_llama.py:make",
        func_args={"rows": 256},
        packages=PACKAGES,
        image_has_packages=IN_IMAGE,
    ),
    outputs=["model", "dataset"],
    wait_for="complete",
)
tuned = TrainJob(
    "adapter",
    runtime="torch-distributed-with-initializers",
    initializer={
        "model": {"storageUri": made.outputs["model"]},
        "dataset": {"storageUri": made.outputs["dataset"]},
    },
    trainer=Trl(
        "sft",
        lora={"r": 8, "target_modules": ["q_proj", "v_proj"]},
        options={"learning_rate": 0.02, "num_train_epochs": 2, "use_cpu": True, "bf16": False},
        packages=PACKAGES,
        image_has_packages=IN_IMAGE,
    ),
    outputs=["model"],
    wait_for="complete",
)
pulumi.export("accuracy", tuned.metrics["mean_token_accuracy"])
pulumi.export("adapter", tuned.outputs["model"])
