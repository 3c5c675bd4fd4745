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
best = sweep.results.apply(
    lambda runs: max(runs.items(), key=lambda run: run[1]["metrics"]["accuracy"])
)
pulumi.export("best", best[0])
pulumi.export("accuracy", best[1]["metrics"]["accuracy"])
pulumi.export("model", best[1]["outputs"]["model"])
