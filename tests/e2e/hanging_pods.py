"""Pods of a training of gloo's ranks, each started by the first process of ours, and what their logs say."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import psutil

from from_source.cluster import python
from trainer_infra.in_pod import init
from trainer_infra.in_pod.checkpoints import hangs
from trainer_infra.local.network import reserved_port
from trainer_infra.runs.hangs import hanging_ranks

ROOT = Path(__file__).parents[2]
TRAINING = ROOT / "tests" / "e2e" / "training" / "hang_torch.py"
AFTER = 12.0
"""Seconds of `hang_after`: a step takes a hundredth of one, and on a machine that is very busy some."""
LONG = 900.0
"""Seconds for what must happen: on a machine that is very busy torch alone is imported for minutes."""


class Pod:
    """One, with some of the ranks."""

    def __init__(self, name: str, ranks: range, size: int, env: dict[str, str]) -> None:
        self.name = name
        one = f"RANK=$rank LOCAL_RANK=$rank {sys.executable} {TRAINING} & "
        text = f'for rank in {" ".join(map(str, ranks))}; do {one} all="$all $!"; done; '
        # It ends as badly as the worst of them.
        text += "code=0; for one in $all; do wait $one || code=$?; done; exit $code"
        variables = python.variables("torch")
        paths = f"{variables['PYTHONPATH']}{os.pathsep}{ROOT}"
        self.process = subprocess.Popen(
            [sys.executable, str(init.__file__), "sh", "-c", text],
            env={**os.environ, **variables, "PYTHONPATH": paths, "WORLD_SIZE": str(size), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._news: Queue[str | None] = Queue()
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                self._news.put(line.rstrip("\n"))
        self._news.put(None)

    def until(self, text: str) -> str:
        """The line that has a text, once it comes."""
        while (line := self._news.get(timeout=LONG)) is not None:
            self.lines.append(line)
            if text in line:
                return line
        raise AssertionError(f"{self.name} has not said {text}: {self.lines}")

    def ended(self) -> int:
        """The code with which it ends, once it does."""
        while (line := self._news.get(timeout=LONG)) is not None:
            self.lines.append(line)
        return self.process.wait(LONG)

    def processes(self) -> list[psutil.Process]:
        """All of it, the first one too."""
        found = []
        for each in psutil.process_iter():
            with suppress(OSError, psutil.Error):
                is_own = os.getsid(each.pid) == self.process.pid
                if is_own and each.status() != psutil.STATUS_ZOMBIE:
                    found.append(each)
        return found

    def signal(self, number: int) -> None:
        """Send it to all of its processes at once."""
        for each in self.processes():
            with suppress(psutil.Error):
                each.send_signal(number)

    def end(self) -> None:
        """End all of its processes, at once."""
        self.signal(signal.SIGKILL)
        self.process.wait()
        self._reader.join()

    def alarms(self) -> list[str]:
        """What it has said of hangs so far, with the stacks before it."""
        marks = [at for at, line in enumerate(self.lines) if hangs.PREFIX in line]
        return self.lines[max(0, marks[0] - 60) : marks[0] + 1] if marks else []


@contextmanager
def training(
    place: Path, *pods: int, arranged: dict[str, Any] | None = None, **env: str
) -> Iterator[list[Pod]]:
    """Pods with so many ranks each, which save in a place; gone at the end."""
    with ExitStack() as leaving:
        port = leaving.enter_context(reserved_port())
        said = {"place": str(place), "run": "vision/digits", "every_steps": 10**9}
        said |= {"hang_seconds": AFTER, "on_hang": "say", **(arranged or {})}
        env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
        env["TRAINER_INFRA_CHECKPOINT"] = json.dumps(said)
        started, begin = [], 0
        for at, count in enumerate(pods):
            pod = Pod(f"node-{at}", range(begin, begin + count), sum(pods), env)
            leaving.callback(pod.end)
            started.append(pod)
            begin += count
        yield started


def what_is_said(pods: list[Pod]) -> str:
    """What a run of these pods is said to wait for."""
    wire = [{"metadata": {"name": each.name}, "status": {"phase": "Running"}} for each in pods]
    found = hanging_ranks(wire, {each.name: tuple(each.lines) for each in pods})
    return "".join(each.sentence for each in found)
