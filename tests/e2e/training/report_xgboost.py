"""XGBoost: trees on random rows of each worker, and a cross-validation where there is one worker."""

# mypy: disable-error-code="import-not-found"

import os

import numpy as np
import xgboost
from train_xgboost import tracker
from xgboost import collective

from trainer_infra.callbacks import XGBoostCallback

PARAMETERS = {"objective": "binary:logistic", "nthread": 1}


def train() -> None:
    """Boost twenty rounds, then five rounds on each half."""
    rank, workers = int(os.environ["DMLC_TASK_ID"]), int(os.environ["DMLC_NUM_WORKER"])
    rows = np.random.default_rng(rank).random((200, 4))
    with tracker(rank, workers) as meeting, collective.CommunicatorContext(**meeting):
        data = xgboost.DMatrix(rows, label=rows[:, 0] > 0.5)
        xgboost.train(
            PARAMETERS,
            data,
            num_boost_round=20,
            evals=[(data, "train")],
            callbacks=[XGBoostCallback(rounds=20, rows=200)],
        )
    if workers == 1:
        xgboost.cv(PARAMETERS, data, 5, nfold=2, callbacks=[XGBoostCallback(rounds=5)])


if __name__ == "__main__":
    train()
