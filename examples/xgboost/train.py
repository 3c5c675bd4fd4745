"""Distributed XGBoost: each worker has its own rows, and all of them add their histograms."""

from pathlib import Path

import xgboost
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from xgboost import collective

from trainer_infra.callbacks import XGBoostCallback
from trainer_infra.report import report
from trainer_infra.storage import output


def train(parameters, rounds: int) -> None:
    """Boost trees, and report how many held-out digits they tell right.

    Args:
        parameters: of the trainer, for `xgboost.train`.
        rounds: of the trainer too.
    """
    rank, workers = collective.get_rank(), collective.get_world_size()
    images, labels = load_digits(return_X_y=True)
    seen, held_out, seen_labels, held_out_labels = train_test_split(
        images, labels, test_size=0.2, random_state=0
    )
    rows = xgboost.DMatrix(seen[rank::workers], seen_labels[rank::workers])
    progress = XGBoostCallback(rounds=rounds, rows=rows.num_row())
    model = xgboost.train(parameters, rows, num_boost_round=rounds, callbacks=[progress])
    told = model.predict(xgboost.DMatrix(held_out))
    report(progress=100, accuracy=float((told == held_out_labels).mean()))
    if rank == 0:
        model.save_model(Path(output("model"), "digits.json"))
