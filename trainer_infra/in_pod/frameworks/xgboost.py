"""XGBoost: the tracker on node 0, and the communicator that all workers enter. Needs xgboost 2.1 or newer.

The variables are those of the runtime (reference behaviour 3.5); each node is one worker, which
uses all of its threads, or its GPU.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 60
"""Seconds until the name of node 0 must be known, and attempts to reach its tracker."""


@contextmanager
def prepared(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`parameters` and `rounds` of the trainer, for `xgboost.train`, among workers that know one another."""
    from xgboost import collective, tracker  # noqa: PLC0415  only this framework has it

    workers, task = int(os.environ["DMLC_NUM_WORKER"]), int(os.environ["DMLC_TASK_ID"])
    address = resolved(os.environ["DMLC_TRACKER_URI"])
    port = int(os.environ["DMLC_TRACKER_PORT"])
    meeting = {
        "dmlc_tracker_uri": address,
        "dmlc_tracker_port": port,
        "dmlc_task_id": str(task),
        "dmlc_retry": PATIENCE,
    }
    server = None
    if task == 0:
        server = tracker.RabitTracker(workers, host_ip=address, port=port)
        server.start()
    with collective.CommunicatorContext(**meeting):
        yield {"parameters": settings["parameters"], "rounds": settings["rounds"]}
    if server is not None:
        server.wait_for()


def resolved(name: str) -> str:
    """The address of a pod, which has its name a moment after it has started.

    Raises:
        OSError: It has none for too long.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return socket.gethostbyname(name)
        except OSError:  # noqa: PERF203  it is slow by itself
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
