"""XGBoost: trees that are boosted round by round, by one worker or by several.

Argument: how many rounds. With DMLC_NUM_WORKER, one of several workers.
"""

# mypy: disable-error-code="import-not-found"

import contextlib
import os
import sys
from typing import Any

import disturb
import numpy as np
import xgboost
from train_xgboost import tracker
from xgboost import collective

from trainer_infra.checkpoint import Checkpointer


def train(rounds: int) -> None:
    """Boost, from a checkpoint where there is one."""
    ranks = int(os.environ.get("DMLC_NUM_WORKER", "1"))
    rank = int(os.environ.get("DMLC_TASK_ID", "0"))
    with contextlib.ExitStack() as stack:
        if ranks > 1:
            meeting = stack.enter_context(tracker(rank, ranks))
            stack.enter_context(collective.CommunicatorContext(**meeting))
        boost(rounds, rank, ranks)


def boost(rounds: int, rank: int, ranks: int) -> None:
    """Boost on the rows of this worker."""
    drawn = np.random.default_rng(0)
    rows, labels = drawn.normal(size=(400, 8)), drawn.integers(0, 2, 400)
    mine = xgboost.DMatrix(rows[rank::ranks], labels[rank::ranks])
    # With `subsample` a booster of XGBoost that was stored, by whatever means, draws other rows than one that was not.
    settings = {"objective": "binary:logistic", "max_depth": 4, "nthread": 1}
    checkpointer = Checkpointer()
    state: dict[str, Any] = checkpointer.restore({"booster": None, "round": 0})
    booster = state["booster"] or xgboost.Booster(settings, [mine])
    if rank == 0:
        disturb.say("begins", state["round"])
    for number in range(state["round"], rounds):
        booster.update(mine, number)
        checkpointer.step(number + 1, {"booster": booster, "round": number + 1})
        disturb.done(number + 1, rank, ranks)
    found = booster.predict(xgboost.DMatrix(rows))
    if rank == 0:
        disturb.say("ends", rounds, disturb.digest([found]))


if __name__ == "__main__":
    train(int(sys.argv[1]))
