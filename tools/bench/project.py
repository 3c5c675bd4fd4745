"""A Pulumi project that is measured: its own backend, one stack, the CLI's wall times."""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
BIN: Final = ROOT / ".venv" / "bin"


@dataclass(frozen=True, slots=True)
class Took:
    """What a command of the CLI took, with every process that it started and waited for."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds, of user and system: steadier than the wall time where others use the machine."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project with a stack `bench`."""

    folder: Path

    def program(self, text: str) -> None:
        """Write the program."""
        (self.folder / "__main__.py").write_text(text)

    def pulumi(self, *arguments: str, fails: bool = False) -> float:
        """Run the CLI; its wall time in seconds."""
        return self.took(*arguments, fails=fails).wall

    def took(self, *arguments: str, fails: bool = False) -> Took:
        """Run the CLI, which is to succeed or to fail."""
        env = {
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}",
            "PULUMI_BACKEND_URL": f"file://{self.folder}",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PYTHONPATH": str(ROOT),
            "TRAINER_INFRA_HOME": str(self.folder / "home"),
        }

        def run() -> None:
            done = subprocess.run(
                ["pulumi", *arguments, "--non-interactive"],
                cwd=self.folder,
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if bool(done.returncode) != fails:
                did = "failed" if done.returncode else "did not fail"
                sys.exit(f"pulumi {' '.join(arguments)} {did}:\n{done.stdout[-4000:]}")

        return measured(run)

    def up(self, *arguments: str) -> float:
        """Seconds of an `up` without its preview."""
        return self.pulumi("up", "--yes", "--skip-preview", *arguments)

    def preview(self) -> float:
        """Seconds of a preview of what is unchanged."""
        return self.pulumi("preview", "--expect-no-changes")

    def state_bytes(self) -> int:
        """Size of the state."""
        return (self.folder / ".pulumi" / "stacks" / "bench" / "bench.json").stat().st_size


def measured(run: Callable[[], None]) -> Took:
    """What it takes to run processes, which have ended when it returns."""
    used, started = _used(), time.perf_counter()
    run()
    return Took(time.perf_counter() - started, _used() - used)


def _used() -> float:
    """Processor seconds of all processes that were waited for as yet."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


@contextmanager
def made(configuration: Mapping[str, str]) -> Iterator[Project]:
    """A new project, which goes afterwards.

    Args:
        configuration: Of the stack, in the namespace `trainer`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        project = Project(Path(scratch))
        (project.folder / "Pulumi.yaml").write_text("name: bench\nruntime: python\n")
        project.pulumi("stack", "init", "bench")
        for key, value in configuration.items():
            project.pulumi("config", "set", f"trainer:{key}", value)
        yield project
