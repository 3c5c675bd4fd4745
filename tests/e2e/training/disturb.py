"""What ends a training that `DISTURB=HOW@STEP` names: once the step is done, as a node, a supervisor or torchrun would.

`term` tells the process, below torchrun its parent, to end, `one` only the last process; `kill` kills that.
"""

import hashlib
import os
import signal
import sys
import time
from collections.abc import Iterable

from trainer_infra.in_pod.checkpoints import termination

LONGEST = 120.0
"""Seconds in which torchrun has handed the signal on."""


def done(step: int, rank: int = 0, ranks: int = 1) -> None:
    """Say that a step is done, and end what is to end then."""
    if rank == 0:
        print("done", step, flush=True)  # noqa: T201  read by the test
    # What a step takes: processes ask each other more rarely where it is nothing.
    time.sleep(float(os.environ.get("STEP_SECONDS", "0.02")))
    how, _, at = os.environ.get("DISTURB", "").partition("@")
    if not how or step != int(at):
        return
    if how != "term":
        if rank == ranks - 1:
            os.kill(os.getpid(), {"one": signal.SIGTERM, "kill": signal.SIGKILL}[how])
        return
    if rank == 0:
        launcher = "TORCHELASTIC_RUN_ID" in os.environ
        os.kill(os.getppid() if launcher else os.getpid(), signal.SIGTERM)
    end = time.monotonic() + LONGEST
    while rank == 0 and not termination.is_told():
        if time.monotonic() > end:
            sys.exit("nobody was told to end")
        time.sleep(0.01)


def digest(arrays: Iterable[object]) -> str:
    """Of arrays of numpy, bit for bit."""
    found = hashlib.sha256()
    for each in arrays:
        found.update(each.tobytes())  # type: ignore[attr-defined]  # numpy is not there for mypy
    return found.hexdigest()[:16]


def say(what: str, *values: object) -> None:
    """Say a thing to the test."""
    print(what, *values, flush=True)  # noqa: T201  read by the test
