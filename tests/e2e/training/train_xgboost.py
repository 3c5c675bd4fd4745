"""XGBoost: the workers add their histograms, each of its own digits."""

# mypy: disable-error-code="import-not-found"

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import digits
import outcome
import xgboost
from xgboost import collective
from xgboost.tracker import RabitTracker


def train(rounds: int = 12) -> None:
    """Boost trees for so many rounds."""
    rank, workers = int(os.environ["DMLC_TASK_ID"]), int(os.environ["DMLC_NUM_WORKER"])
    training, test = digits.load(rank, workers)
    with tracker(rank, workers) as meeting, collective.CommunicatorContext(**meeting):
        settings = {
            "objective": "multi:softmax",
            "num_class": 10,
            "max_depth": 4,
            "eta": 0.5,
            "nthread": 1,
        }
        rows = xgboost.DMatrix(training[0], training[1])
        trees = xgboost.train(settings, rows, num_boost_round=rounds)
        ranks = collective.get_world_size()
    found = trees.predict(xgboost.DMatrix(test[0]))
    outcome.judge((found == test[1]).mean(), ranks)


@contextmanager
def tracker(rank: int, workers: int) -> Iterator[dict[str, Any]]:
    """What workers meet with; the first one runs the tracker."""
    address, port = resolved(os.environ["DMLC_TRACKER_URI"]), int(os.environ["DMLC_TRACKER_PORT"])
    meeting: dict[str, Any] = {
        "dmlc_tracker_uri": address,
        "dmlc_tracker_port": port,
        "dmlc_task_id": os.environ["DMLC_TASK_ID"],
    }
    if rank:
        yield {**meeting, "dmlc_retry": 60}
        return
    server = RabitTracker(workers, host_ip=address, port=port)
    server.start()
    yield meeting
    server.wait_for()


def resolved(name: str) -> str:
    """The address of a pod, which has its name a moment after it has started."""
    until = time.monotonic() + 30
    while True:
        try:
            return socket.gethostbyname(name)
        except socket.gaierror:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
