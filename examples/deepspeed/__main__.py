"""Trains with DeepSpeed: two processes divide the optimizer's state and the gradients, ZeRO stage 2."""

import pulumi

from trainer_infra import DeepSpeed, TrainJob

trainer = DeepSpeed(
    "train.py:train",
    func_args={"epochs": 10},
    zero=2,
    config={
        "train_micro_batch_size_per_gpu": 32,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}},
    },
    num_proc_per_node=2,
    packages=["deepspeed==0.19.8", "torch==2.15.0", "scikit-learn==1.9.1"],
    image_has_packages=["torch"],
)
job = TrainJob("digits", runtime="torch-distributed", trainer=trainer, wait_for="complete")
pulumi.export("accuracy", job.metrics["accuracy"])
