"""XGBoost: trees on random rows, and a cross-validation."""

# mypy: disable-error-code="import-not-found"

import numpy as np
import xgboost

from trainer_infra.callbacks import XGBoostCallback

PARAMETERS = {"objective": "binary:logistic", "nthread": 1}


def train() -> None:
    """Boost twenty rounds, then five rounds on each half."""
    rows = np.random.default_rng(0).random((200, 4))
    data = xgboost.DMatrix(rows, label=rows[:, 0] > 0.5)
    xgboost.train(
        PARAMETERS,
        data,
        num_boost_round=20,
        evals=[(data, "train")],
        callbacks=[XGBoostCallback(rounds=20, rows=200)],
    )
    xgboost.cv(PARAMETERS, data, 5, nfold=2, callbacks=[XGBoostCallback(rounds=5)])


if __name__ == "__main__":
    train()
