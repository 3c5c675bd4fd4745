"""The real initializer, as a process on this machine with a folder for its volume.

What only has to end starts warm (see `tests.warm_start`); what is watched or killed is started as
the image starts it.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import warm_start
from trainer_infra.in_pod.initializers import __main__ as initializers

ROOT = Path(__file__).resolve().parents[3]
OF_OTHERS = ("AWS_", "AZURE_", "GOOGLE_", "HF_", "KUBEFLOW_", "TRAINER_INFRA_")
"""Beginnings of variables that this machine may have and a pod has not."""


@dataclass(frozen=True)
class Outcome:
    """What a process left."""

    code: int
    output: str
    errors: str


@dataclass(frozen=True)
class Initializer:
    """One of a kind on a volume.

    Args:
        volume: the folder that stands for `/workspace`.
        environment: its variables, besides those that every process has.
        kind: `dataset` or `model`.
    """

    volume: Path
    environment: Mapping[str, str]
    kind: str = "dataset"

    @property
    def target(self) -> Path:
        """Where its files go."""
        return self.volume / self.kind

    @property
    def state(self) -> Path:
        """Where it keeps what it needs itself."""
        return self.volume / f".trainer-infra-{self.kind}"

    def variables(self) -> dict[str, str]:
        """All that the process has in its environment."""
        own = {key: value for key, value in os.environ.items() if not key.startswith(OF_OTHERS)}
        mounts = {"TRAINER_INFRA_MOUNTS": json.dumps({"/workspace": str(self.volume)})}
        return {**own, "ATTEMPTS": "2", **mounts, **self.environment}

    def start(self, **variables: str) -> "subprocess.Popen[str]":
        """Start it as the image does, without waiting."""
        return subprocess.Popen(
            [sys.executable, "-m", "trainer_infra.in_pod.initializers", self.kind],
            cwd=ROOT,
            env={**self.variables(), **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: int = 0, **variables: str) -> Outcome:
        """Run it to its end, which has this exit code."""
        env = {**self.variables(), **variables}
        done = warm_start.run(initializers.main, self.kind, folder=ROOT, env=env)
        outcome = Outcome(done.code, done.out, done.err)
        assert outcome.code == code, outcome
        return outcome

    def files(self) -> dict[str, bytes]:
        """What there is in the target; code's is a volume of its own, which has more."""
        return {
            str(each.relative_to(self.target)): each.read_bytes()
            for each in sorted(self.target.rglob("*"))
            if each.is_file() and (self.kind != "code" or ".trainer-infra" not in each.parts)
        }

    def lock_text(self) -> str:
        """What the process that works on the target says; empty where there is none."""
        locks = sorted(self.state.glob("lock-*"))
        return locks[-1].read_text() if locks else ""


def end_of(process: "subprocess.Popen[str]") -> Outcome:
    """What a process left, once it has ended."""
    output, errors = process.communicate()
    return Outcome(process.returncode, output, errors)


def kill(process: "subprocess.Popen[str]") -> None:
    """End it as a kubelet does that is out of memory."""
    process.send_signal(signal.SIGKILL)
    process.communicate()
