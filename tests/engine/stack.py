"""A project's stack as `tests.deploy.project` has it, on the engine for tests in place of the CLI."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from typing_extensions import override

from tests import warm_start
from tests.deploy.project import Stack, errors
from tests.engine import command
from tests.engine.backend import StackFiles, backend_of


def new_stack(folder: Path, env: Mapping[str, str]) -> "EngineStack":
    """A stack of this machine in a new project.

    Args:
        folder: for the project.
        env: of its commands.
    """
    folder.mkdir(exist_ok=True)
    (folder / "Pulumi.yaml").write_text("name: project\nruntime: python\n")
    made = EngineStack(folder, env)
    files = StackFiles(folder, made.name, backend_of(env))
    files.make()
    files.set("trainer:target", "local")
    return made


@dataclass
class EngineStack(Stack):
    """One project folder with a stack, each of whose commands is a process that starts warm."""

    @override
    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        self._needs_cli(arguments)

    @override
    def pulumi(self, *arguments: str) -> str:
        self._needs_cli(arguments)

    @override
    def run(self, *arguments: str, ok: bool = True) -> str:
        done = self._done(*arguments)
        output = done.out + done.err
        assert (done.code == 0) == ok, f"{output}\n{errors(output)}"
        return output

    @override
    def _json(self, *arguments: str) -> dict[str, Any]:
        done = self._done(*arguments)
        assert done.code == 0, done.err
        loaded: dict[str, Any] = json.loads(done.out)
        return loaded

    def _done(self, *arguments: str) -> warm_start.Done:
        words = (*arguments, "--stack", self.name)
        return warm_start.run(command.main, *words, folder=self.folder, env=self.env)

    def _needs_cli(self, arguments: tuple[str, ...]) -> NoReturn:
        raise AssertionError(f"{' '.join(arguments)}: that needs the real CLI, fixture `cli_stack`")
