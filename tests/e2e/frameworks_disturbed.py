"""Trainings by real frameworks that are disturbed on this machine, with the packages that a cluster's pods have."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from from_source.cluster import python
from trainer_infra.local.network import reserved_port

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "e2e" / "training"
TORCHRUN = ("-m", "torch.distributed.run", "--master-addr=127.0.0.1")


@dataclass(frozen=True)
class Ended:
    """What a training said, and how its processes ended."""

    codes: tuple[int, ...]
    out: str
    err: str

    def said(self, what: str) -> str:
        """The rest of the line that begins so."""
        (found,) = (line for line in self.out.splitlines() if line.startswith(f"{what} "))
        return found.removeprefix(f"{what} ")

    @property
    def begins(self) -> int:
        """The step from which it went on."""
        return int(self.said("begins").split()[0])


@dataclass(frozen=True)
class Training:
    """A program, and the packages that it needs."""

    program: str
    packages: Sequence[str]
    arguments: Sequence[str] = ()
    processes: int = 1
    arranged: dict[str, Any] = field(default_factory=dict)

    def run(self, place: Path | str, disturb: str = "", processes: int = 0) -> Ended:
        """Run it to its end, which may be that it is told to end, or killed: `term@STEP`, `kill@STEP`."""
        arranged = {"place": str(place), "run": "vision/digits", "every_steps": 10, **self.arranged}
        variables = python.variables(*self.packages)
        env = {
            **os.environ,
            **variables,
            "PYTHONPATH": f"{variables['PYTHONPATH']}{os.pathsep}{ROOT}",
            "TRAINER_INFRA_CHECKPOINT": json.dumps(arranged),
            "DISTURB": disturb,
            "OMP_NUM_THREADS": "1",
            "JAX_PLATFORMS": "cpu",
            "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "60",
        }
        return self._started(env, processes or self.processes)

    def _started(self, env: dict[str, str], processes: int) -> Ended:
        words = (str(PROGRAMS / self.program), *self.arguments)
        if processes > 1 and "torch" in self.packages:
            with reserved_port() as port:
                launcher = (*TORCHRUN, f"--master-port={port}", f"--nproc-per-node={processes}")
            return _ended([(*launcher, *words)], [env])
        with reserved_port() as port:
            each = [{**env, **_meeting(rank, processes, port)} for rank in range(processes)]
        return _ended([words] * processes, each)


def _meeting(rank: int, processes: int, port: int) -> dict[str, str]:
    """How processes of JAX and workers of XGBoost find one another."""
    if processes == 1:
        return {}
    return {
        "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{port}",
        "JAX_NUM_PROCESSES": str(processes),
        "JAX_PROCESS_ID": str(rank),
        "DMLC_TRACKER_URI": "127.0.0.1",
        "DMLC_TRACKER_PORT": str(port),
        "DMLC_NUM_WORKER": str(processes),
        "DMLC_TASK_ID": str(rank),
    }


def _ended(commands: Sequence[Sequence[str]], environments: Sequence[dict[str, str]]) -> Ended:
    """All of them, once they have ended; what the first one said. One that is killed takes the others with it."""
    with ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile("w+")) for _ in range(2 * len(commands))]
        started = [
            subprocess.Popen((sys.executable, *command), env=env, stdout=out, stderr=err, text=True)
            for command, env, out, err in zip(
                commands, environments, files[::2], files[1::2], strict=True
            )
        ]
        for process in started:
            stack.callback(process.kill)
        _wait(started)
        said = []
        for each in files:
            each.seek(0)
            said.append(each.read())
    return Ended(tuple(each.returncode for each in started), said[0], "".join(said[1::2]))


def _wait(started: Sequence["subprocess.Popen[str]"]) -> None:
    end = time.monotonic() + 900
    while any(each.poll() is None for each in started):
        assert time.monotonic() < end, "it did not end in time"
        if any(each.returncode == -signal.SIGKILL for each in started):
            for each in started:
                each.kill()
        time.sleep(0.05)
