"""Trains with every pair of two settings, two runs at once, and hands the best model on."""

from itertools import product

import pulumi

from trainer_infra import CustomTrainer, TrainJobs

GAMMAS, PENALTIES = (0.0001, 0.001, 0.01), (1.0, 10.0)

sweep = TrainJobs(
    "digits",
    {
        f"gamma-{gamma}-penalty-{penalty}": {
            "runtime": "plain-distributed",
            "trainer": CustomTrainer(
                "train.py:train",
                func_args={"gamma": gamma, "penalty": penalty},
                packages=["scikit-learn==1.9.1"],
            ),
            "outputs": ["model"],
        }
        for gamma, penalty in product(GAMMAS, PENALTIES)
    },
    max_parallel=2,
    wait_for="complete",
)
best = sweep.best("accuracy")
pulumi.export("best", best["member"])
pulumi.export("accuracy", best["value"])
pulumi.export("model", best["outputs"]["model"])
