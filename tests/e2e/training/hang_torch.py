"""A training of gloo's ranks that hangs when it is told how: `RANK:HOW@STEP` in the environment.

Every step is a collective of all ranks and a call of the Checkpointer, as in a training by DDP.
"""

# mypy: disable-error-code="import-not-found"

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import disturb
import torch
from torch import distributed

from trainer_infra.checkpoint import Checkpointer

STEPS = int(os.environ.get("STEPS", "1000000"))
WHO, HOW, AT = re.split("[:@]", os.environ.get("HANG", "9:no@0"))
SLOW, LASTS = os.environ.get("SLOW"), float(os.environ.get("LASTS", "0"))
PAUSE = float(os.environ.get("PAUSE", "0.01"))


def work(step: int, rank: int) -> bool:
    """One step; whether the training goes on."""
    is_time = (rank, step) == (int(WHO), int(AT)) and not os.environ.get("GOES_ON")
    if is_time and HOW == "leaves out a collective":
        return True
    if is_time and HOW == "leaves the loop":
        return False
    if is_time:
        hang()
    found = torch.ones(2)
    distributed.all_reduce(found)
    time.sleep(PAUSE)
    return True


def agreed(is_over: bool) -> bool:
    """Whether any rank says so."""
    found = torch.tensor(int(is_over))
    distributed.all_reduce(found, distributed.ReduceOp.MAX)
    return bool(found)


def hang() -> None:
    """Do what never ends."""
    ways: dict[str, Callable[[], object]] = {
        "loops": loop,
        "loops in C": lambda: re.match(r"(a+)+$", "a" * 60 + "b"),
        "counts": lambda: sum(range(10**14)),
        "sleeps": lambda: time.sleep(10**6),
        "reads": lambda: os.read(os.pipe()[0], 1),
        "waits for a thread": lambda: threading.Event().wait(),
        "stops": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    }
    ways[HOW]()


def loop() -> None:
    """Loop in Python."""
    while True:
        pass


class Slow:
    """A value that takes its time to be saved, or to be read."""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def __getstate__(self) -> dict[str, int]:  # type: ignore[explicit-override]  # Python 3.9 has no such decorator
        if SLOW == "saves" or (SLOW == "saves in the first" and self.rank == 0):
            time.sleep(LASTS)
        return vars(self)

    def __setstate__(self, state: dict[str, int]) -> None:
        if SLOW == "restores":
            time.sleep(LASTS)
        vars(self).update(state)


def train() -> None:
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    checkpointer = Checkpointer()
    state = checkpointer.restore({"step": 0, "slow": Slow(rank)})
    if SLOW == "writes":
        theirs = os.fsync

        def slow(fd: Any) -> None:
            """As a place that takes long for what is written."""
            time.sleep(LASTS / 4)
            theirs(fd)

        os.fsync = slow
    disturb.say("begins", state["step"])
    for step in range(state["step"], STEPS):
        if not work(step, rank):
            break
        state["step"] = step + 1
        checkpointer.step(step + 1, state)
        until = time.monotonic() + LASTS
        while SLOW == "evaluates" and step == 40:
            distributed.all_reduce(torch.ones(2))
            time.sleep(0.05)
            checkpointer.step(step + 1, state)
            if agreed(time.monotonic() >= until):
                break
        disturb.say("step", step + 1)
    distributed.barrier()
    distributed.destroy_process_group()
    disturb.say("ends", rank)


if __name__ == "__main__":
    train()
    sys.exit(0)
