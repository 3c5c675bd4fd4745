"""A Pulumi project driven by the real CLI, and the processes that it leaves behind."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import psutil

from tests.cli.command import Command

HEAD = """
import pulumi
from trainer_infra import CustomTrainer, Secret, TrainJob

def train(seconds=0.0, code=0, text="", **rest):
    import os, sys, time
    from trainer_infra.report import report
    print("rank", os.environ["JAX_PROCESS_ID"], "of", os.environ["JAX_NUM_PROCESSES"], text, flush=True)
    report(progress=10, loss=0.5)
    time.sleep(seconds)
    report(progress=100, accuracy=0.97)
    sys.exit(code)
"""


def pulumi_home(folder: Path) -> Path:
    """A home of the CLI, made in a folder, in which the engine logs nothing.

    Its log of all that passes is most of its time, and it goes on where the log's folder is a file.
    """
    home = folder / "pulumi-home"
    home.mkdir()
    (home / "logs").touch()
    return home


def errors(output: str) -> str:
    """The errors in what the CLI printed, each with the lines behind it: CI shows the end of a failure."""
    return "\n".join(re.findall(r"^ *error: .*(?:\n.*){0,25}", output, re.MULTILINE))


@dataclass
class Stack:
    """One project folder with a stack."""

    folder: Path
    env: Mapping[str, str]
    name: str = "test"

    def program(self, text: str) -> None:
        """Write the program: `train`, `CustomTrainer`, `Secret` and `TrainJob` are there."""
        (self.folder / "__main__.py").write_text(HEAD + dedent(text))

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start the CLI without waiting for it."""
        return subprocess.Popen(
            ["pulumi", *arguments, "--stack", self.name, "--non-interactive"],
            cwd=self.folder,
            env=dict(self.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, ok: bool = True) -> str:
        """Run the CLI to its end and return what it printed."""
        with self.start(*arguments) as process:
            try:
                output, _ = process.communicate(timeout=600)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        assert (process.returncode == 0) == ok, f"{output}\n{errors(output)}"
        return output

    def pulumi(self, *arguments: str) -> str:
        """Run the CLI with no stack chosen, and return what it printed."""
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.folder,
            env=dict(self.env),
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
            check=True,
        )
        return done.stdout

    def up(self, *arguments: str, ok: bool = True) -> str:
        return self.run("up", "--yes", "--skip-preview", "--diff", *arguments, ok=ok)

    def preview(self, *arguments: str, ok: bool = True) -> str:
        return self.run("preview", "--diff", *arguments, ok=ok)

    def unchanged(self) -> None:
        """Fail unless a preview finds nothing to change."""
        self.run("preview", "--expect-no-changes")

    def outputs(self) -> dict[str, Any]:
        return self._json("stack", "output", "--json")

    def export(self) -> str:
        return self.run("stack", "export")

    def job(self, name: str = "job") -> dict[str, Any]:
        """Outputs of a TrainJob in the state."""
        for resource in self.resources("trainer:TrainJob"):
            if resource["urn"].endswith(f"::{name}"):
                outputs: dict[str, Any] = resource["outputs"]
                return outputs
        raise AssertionError(f"no TrainJob {name} in the state")

    def resources(self, kind: str) -> list[dict[str, Any]]:
        deployment = self._json("stack", "export")["deployment"]
        return [each for each in deployment.get("resources", ()) if each["type"].endswith(kind)]

    def trainer(self, *arguments: str, ok: bool = True) -> str:
        """Run the `trainer-infra` command in the project."""
        done = Command(self.folder, self.env)(*arguments)
        assert (done.code == 0) == ok, done.out + done.err
        return done.out + done.err

    def runs(self) -> list[dict[str, Any]]:
        """Every run of this machine's state folder, as the command line sees it."""
        found: list[dict[str, Any]] = json.loads(self.trainer("get", "-A", "-o", "json"))["items"]
        return found

    def _json(self, *arguments: str) -> dict[str, Any]:
        done = subprocess.run(
            ["pulumi", *arguments, "--stack", self.name, "--non-interactive"],
            cwd=self.folder,
            env=dict(self.env),
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
            check=True,
        )
        loaded: dict[str, Any] = json.loads(done.stdout)
        return loaded


def new_cli_stack(folder: Path, env: Mapping[str, str]) -> Stack:
    """A stack of a new project that has its folder's name."""
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text(f"name: {folder.name}\nruntime: python\n")
    made = Stack(folder, env)
    made.run("stack", "init")
    return made


def processes_of(folder: Path, *words: str) -> list[psutil.Process]:
    """Every process whose command or environment has the folder, and each word; not this one.

    One that ends meanwhile is left out: its command and environment are read once.
    """
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environ = process.info["environ"] or {}
        text = "\0".join([*(process.info["cmdline"] or ()), *map("=".join, environ.items())])
        if process.pid != os.getpid() and all(word in text for word in (str(folder), *words)):
            found.append(process)
    return found


def providers_of(folder: Path) -> list[psutil.Process]:
    """The processes that serve the engine's dynamic resources to projects below a folder."""
    return processes_of(folder, "pulumi.dynamic")


def until(condition: Callable[[], Any], seconds: float = 300, pause: float = 0.01) -> Any:
    """The first true value of `condition`, which is asked again after a pause, in seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise AssertionError(f"{condition} was not true within {seconds} s")


def most_at_once(spans: Iterable[tuple[str, str]]) -> int:
    """How many of these went on at one time, each by when it began and ended, in RFC 3339."""
    changes = [change for began, ended in spans for change in ((began, 1), (ended, -1))]
    # One that ends in the second in which another begins ended before.
    going, most = 0, 0
    for _, change in sorted(changes, key=lambda each: (datetime.fromisoformat(each[0]), each[1])):
        going += change
        most = max(most, going)
    return most


def interrupt(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGINT)


def read_until(text: str, process: "subprocess.Popen[str]") -> str:
    """What the CLI prints up to a line with the text."""
    assert process.stdout is not None
    said = ""
    while text not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    return said
