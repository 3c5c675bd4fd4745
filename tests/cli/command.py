"""The `trainer-infra` command as a process of its own, with a state folder of its own.

A call starts warm (see `tests.warm_start`); what is started to be watched is started as users do.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import warm_start
from tests.warm_start import Done
from trainer_infra.cli import main

PROGRAM = str(Path(sys.executable).parent / "trainer-infra")


@dataclass(frozen=True)
class Command:
    """Runs `trainer-infra` in one folder."""

    folder: Path
    env: Mapping[str, str]

    def __call__(self, *arguments: str, stdin: str | None = None) -> Done:
        """Run to the end."""
        return warm_start.run(main.main, *arguments, folder=self.folder, env=self.env, stdin=stdin)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start without waiting."""
        return subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def write(self, name: str, text: str) -> str:
        """Write a file of the folder; its name."""
        (self.folder / name).parent.mkdir(exist_ok=True, parents=True)
        (self.folder / name).write_text(text)
        return name

    def runs(self) -> list[dict[str, Any]]:
        """Every run there is."""
        found: list[dict[str, Any]] = json.loads(self("get", "-A", "-o", "json").out)["items"]
        return found

    def phases(self) -> dict[str, str]:
        """Phase of each run by its name."""
        return {each["name"]: each["phase"] for each in self.runs()}


def command_in(folder: Path) -> Command:
    """A command whose state and files are in a folder."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
        "TRAINER_INFRA_HOME": str(folder / "home"),
        "TRAINER_INFRA_CACHE": str(folder / "cache"),
        "NO_COLOR": "1",
        "COLUMNS": "100",
    }
    work = folder / "work"
    work.mkdir()
    return Command(work, env)


def until(condition: Callable[[], Any], seconds: float = 300) -> Any:
    """The first true value of a condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"{condition} was not true within {seconds} s")


def interrupt(process: "subprocess.Popen[str]") -> Done:
    """Press Ctrl-C."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    return Done(process.returncode, out, err)
