"""Waiting for a TrainJob: progress while it runs, a sentence when it fails, outputs at its end.

Called by `provider.TrainJobResultProvider`. Rules: DESIGN.md, rule 3.
"""

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

from trainer_infra import names
from trainer_infra.deploy import boundary
from trainer_infra.deploy.boundary import EngineGone, Messages
from trainer_infra.errors import NotAvailable, RunFailed
from trainer_infra.local import runs, told
from trainer_infra.local.runs import Run

JSON = Mapping[str, Any]

EVENTS: Final = ("running", "complete")
"""What a gate can wait for."""
INTERVAL: Final = 0.2
"""Seconds between two looks at a run on this machine."""
HEARTBEAT: Final = 5.0
"""Seconds after which a message is repeated, which also tells whether the engine still lives."""

LEAVE: Final = "Ctrl-C again leaves, the run goes on: "
AGAIN: Final = "change the program, or raise attempt to run the same again"


def wait(given: JSON, messages: Messages) -> dict[str, Any]:
    """Outputs of the gate once the event has happened.

    Raises:
        RunFailed: The run failed, with pod, reason, exit code and last lines.
        NotAvailable: The run is gone.
    """
    said, at, leaving = "", 0.0, False
    while True:
        run = runs.get(given["namespace"], given["jobName"], given["uid"])
        if run is None:
            raise NotAvailable(
                f"TrainJob {given['jobName']} is gone; run `pulumi refresh`, then `pulumi up`"
            )
        if run.phase == names.FAILED:
            raise RunFailed(f"{told.failure(run)}\n{AGAIN}")
        if run.phase == names.COMPLETE or (given["until"] == "running" and run.phase == "Running"):
            return outputs(run)
        if boundary.CANCELLED.is_set() and not leaving:
            leaving = True
            messages.warn(
                f"{run.name} keeps running on this machine; press Ctrl-C again to leave now, "
                "the next `pulumi up` waits for it again"
            )
        message = f"{LEAVE if leaving else ''}{progress(run)}"
        if message != said or time.monotonic() - at > HEARTBEAT:
            _tell(messages, message)
            said, at = message, time.monotonic()
        if leaving and _told_to_end():
            os._exit(1)
        time.sleep(INTERVAL)


def progress(run: Run) -> str:
    """One line on where a run is: why it waits, or how far it is, with its last metrics."""
    if run.waiting_for:
        return run.waiting_for
    done = told.percent(run)
    parts = [run.phase.lower(), "" if done is None else f"{done}%", told.pairs(told.metrics(run))]
    return "  ".join(filter(None, parts))


def outputs(run: Run) -> dict[str, Any]:
    """What a gate knows of a run."""
    known: dict[str, Any] = {"status": phase(run), "metrics": told.metrics(run)}
    known |= {"startedAt": run.started, "finishedAt": run.finished}
    if run.started and run.finished:
        length = datetime.fromisoformat(run.finished) - datetime.fromisoformat(run.started)
        known["durationSeconds"] = length.total_seconds()
    return known


def phase(run: Run) -> str:
    """The phase, and for a failed run why."""
    return f"{run.phase}: {run.message}" if run.phase == names.FAILED else run.phase


def _told_to_end() -> bool:
    """Whether the engine told this process to end: it then waits for us, the last operation.

    Its main thread has returned by then, and the interpreter takes no new work.
    """
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
    except RuntimeError:
        return True
    return False


def _tell(messages: Messages, message: str) -> None:
    try:
        messages.status(message)
    except EngineGone:
        # The command that asked was killed: this process must not wait on for nobody. The run
        # goes on, and the next `pulumi up` waits for it again.
        os._exit(1)
