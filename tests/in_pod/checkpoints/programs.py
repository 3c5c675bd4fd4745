"""A training of forty steps that is told to end, or killed, at a step of its own, and the places where it saves."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STEPS = 40
PROGRAM = """
import os, signal, sys, threading
from trainer_infra.checkpoint import Checkpointer

told, times, killed = (int(each) for each in sys.argv[1:])
checkpointer = Checkpointer()
state = checkpointer.restore({"step": 0, "sum": 0.0})
print("begins", state["step"])
for step in range(state["step"], 40):
    state = {"step": step + 1, "sum": state["sum"] + step * 0.1}
    if step + 1 == told:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGTERM)
    checkpointer.step(step + 1, state)
    if step + 1 == killed:
        for each in threading.enumerate():
            if each.name.startswith("checkpoint-"):
                each.join()
        os.kill(os.getpid(), signal.SIGKILL)
print("ends", state["sum"])
"""
UNDISTURBED = f"ends {sum(step * 0.1 for step in range(STEPS))}"


@dataclass(frozen=True)
class Ended:
    """What a program said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def begins(self) -> int:
        """The step from which it went on."""
        return int(self.out.splitlines()[0].removeprefix("begins "))

    @property
    def last(self) -> str:
        """The last line that it printed."""
        return self.out.splitlines()[-1]

    @property
    def error(self) -> str:
        """The last line of its traceback."""
        return self.err.splitlines()[-1]


def run(place: Path | str, *arguments: int, program: str = PROGRAM, **arranged: Any) -> Ended:
    """Run a program to its end, with what is arranged: a save at each fifth step."""
    value = {"place": str(place), "run": "vision/digits", "every_steps": 5, **arranged}
    return run_with({"TRAINER_INFRA_CHECKPOINT": json.dumps(value)}, *arguments, program=program)


def run_with(variables: Mapping[str, str], *arguments: int, program: str = PROGRAM) -> Ended:
    """Run a program to its end with these variables."""
    known = {key: each for key, each in os.environ.items() if key != "TRAINER_INFRA_CHECKPOINT"}
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments or (0, 0, 0))],
        env={**known, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def told_at(place: Path | str, step: int, times: int = 1, **arranged: Any) -> Ended:
    """Run it until it is told to end."""
    return run(place, step, times, 0, **arranged)


def killed_at(place: Path | str, step: int, **arranged: Any) -> Ended:
    """Run it until it is killed, with no save going on."""
    return run(place, 0, 0, step, **arranged)


def steps_of(place: Path) -> list[int]:
    """The whole checkpoints of a place."""
    return sorted(int(each.parent.name[5:]) for each in place.glob("step-*/whole.json"))


def file_of(place: Path, step: int) -> Path:
    """What the only process wrote of a checkpoint."""
    (found,) = place.glob(f"step-{step:010}/*/rank-00000.pickle")
    return found
