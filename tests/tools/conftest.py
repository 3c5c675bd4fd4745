"""A Pulumi project per test, run by the real CLI with the language host of tools/pulumi."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Project:
    """A folder with a program, and a stack named `test`."""

    folder: Path
    env: Mapping[str, str]

    def program(self, text: str) -> None:
        (self.folder / "__main__.py").write_text(dedent(text))

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["pulumi", *arguments, "--stack", "test", "--non-interactive", "--color", "never"],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == code, output
        return output


def _with_our_host(env: dict[str, str], folder: Path) -> dict[str, str]:
    """Where the CLI is an installed one, `.venv` has no launchers: make them first on PATH."""
    if (ROOT / ".venv" / "bin" / "pulumi-language-python").exists():
        return env
    folder.mkdir()
    plugins = {"language-python": "language_host", "resource-pulumi-python": "dynamic_provider"}
    for name, script in plugins.items():
        launcher = folder / f"pulumi-{name}"
        path = ROOT / "tools" / "pulumi" / f"{script}.py"
        launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -u "{path}" "$@"\n')
        launcher.chmod(0o755)
    return {**env, "PATH": f"{folder}{os.pathsep}{env['PATH']}"}


@pytest.fixture
def project(tmp_path: Path, pulumi_env: dict[str, str]) -> Project:
    """The virtual environment is named relative to the project, as stacks/quickstart does."""
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "venv").symlink_to(ROOT / ".venv")
    (folder / "Pulumi.yaml").write_text(
        "name: tiny\nruntime: {name: python, options: {virtualenv: ../venv}}\n"
    )
    made = Project(folder, _with_our_host(pulumi_env, tmp_path / "bin"))
    subprocess.run(
        ["pulumi", "stack", "init", "test"], cwd=folder, env=pulumi_env, check=True, timeout=600
    )
    return made
