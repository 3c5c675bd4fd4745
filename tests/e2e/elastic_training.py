"""A training by torch on two to four nodes, of which a test takes some away and gives them back."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from from_source.cluster import python
from tests.deploy.project import Stack
from tests.local.jobs import eventually
from trainer_infra.local import processes
from trainer_infra.local.network import reserved_port

TRAINING = Path(__file__).parent / "training"
STEPS = 400
KEPT_AWAY = """
import os, time
held = os.path.join(os.environ["GATE"], "hold-" + os.environ.get("JOB_COMPLETION_INDEX", ""))
while os.path.exists(held):
    time.sleep(0.05)
"""
"""What each Python of a node does first: it waits as long as the test keeps the node away."""
ELASTIC = """
from trainer_infra import Checkpoint

TrainJob("job", runtime="torch-distributed", checkpoint=Checkpoint(every=20, save_seconds=30),
         trainer=CustomTrainer("{training}/train_elastic.py:train", func_args={{"steps": {steps}, "gate": "{gate}"}},
                               num_nodes={nodes}, num_proc_per_node=1, env={env}))
"""


@dataclass
class ElasticTraining:
    """One run of it on this machine."""

    stack: Stack
    gate: Path
    nodes: Any = (2, 4)
    disturbed_at: float = field(default_factory=time.time)
    """When a node was last taken away or given back."""

    def up(self) -> str:
        """Start it, or bring it to what the program says now."""
        (self.gate / "sitecustomize.py").write_text(KEPT_AWAY)
        found = python.variables("torch")
        variables = {
            "PATH": found["PATH"],
            "PYTHONPATH": f"{self.gate}{os.pathsep}{found['PYTHONPATH']}",
            "GATE": str(self.gate),
            "PET_RDZV_CONF": "join_timeout=600,last_call_timeout=3",
        }
        parts = {"steps": STEPS, "gate": self.gate, "nodes": self.nodes, "training": TRAINING}
        self.stack.program(ELASTIC.format(env=variables, **parts))
        return self.stack.up()

    @property
    def name(self) -> str:
        """The run's."""
        return str(self.stack.job()["name"])

    def logs(self) -> str:
        """What all nodes have said."""
        return self.stack.trainer("logs", self.name)

    def keep_away(self, *nodes: int) -> None:
        """Let these nodes begin only when they are given back."""
        for each in nodes:
            (self.gate / f"hold-{each}").touch()

    def give_back(self, *nodes: int) -> None:
        """Let them begin."""
        self.disturbed_at = time.time()
        for each in nodes:
            (self.gate / f"hold-{each}").unlink()

    def kill(self, node: int) -> None:
        """End all processes of a node, as a machine does that is gone."""
        self.disturbed_at = time.time()
        uid = str(self.stack.job()["uid"])
        found = [each for each in processes.find_everywhere(uid) if _node(each) == str(node)]
        assert found
        for each in found:
            with suppress(psutil.Error):
                each.send_signal(signal.SIGKILL)

    def trains_with(self, ranks: int) -> int:
        """Wait until as many processes have begun last, and show after what pause; from which step they did."""
        eventually(lambda: [each for _, each in begins(self.logs())[-1:]] == [ranks])
        at, step, _ = begun_at(self.logs())[-1]
        pause = at - self.disturbed_at
        print(json.dumps({"processes": ranks, "pause": round(pause, 1)}))  # noqa: T201  what `pytest -s` is for
        return step

    def ends(self) -> float:
        """With what it ends; every step was counted once."""
        (self.gate / "go").touch()
        eventually(lambda: self.phase() in {"Complete", "Failed"}, 600)
        assert self.phase() == "Complete", self.stack.trainer("describe", self.name) + self.logs()
        return end_of(self.logs())

    def phase(self) -> str:
        """The run's."""
        return str(self.stack.runs()[0]["phase"])


def begins(said: str) -> list[tuple[int, int]]:
    """From which step a training began each time, and with how many processes."""
    return [(step, ranks) for _, step, ranks in begun_at(said)]


def begun_at(said: str) -> list[tuple[float, int, int]]:
    """The same, with when it was."""
    found = re.findall(r"([\d.]+) begins at (\d+) with (\d+)", said)
    return sorted((float(at), int(step), int(ranks)) for at, step, ranks in found)


def end_of(said: str, steps: int = STEPS) -> float:
    """With what a training ends; every step was counted once."""
    ((counted, end),) = re.findall(r"counted (\d+) ends with ([\d.]+)", said)
    assert int(counted) == sum(range(steps))
    return float(end)


def undisturbed(steps: int = STEPS) -> float:
    """With what it ends in one process that nothing disturbs."""
    with reserved_port() as port:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": "0"}
        code = f"import train_elastic; train_elastic.train({steps}, pause=0)"
        variables = python.variables("torch")
        found = subprocess.run(
            [sys.executable, "-c", code],
            cwd=TRAINING,
            env={**os.environ, **variables, **meeting, "WORLD_SIZE": "1"},
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
    return end_of(found.stdout, steps)


def _node(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return process.environ().get("JOB_COMPLETION_INDEX", "")
    return ""
