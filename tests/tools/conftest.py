"""A Pulumi project per test, run by the real CLI with the language host of from_source/pulumi."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from tests.conftest import pulumi_environment

ROOT = Path(__file__).resolve().parent.parent.parent
HOST = ROOT / ".venv" / "bin" / "pulumi-language-python"


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


@pytest.fixture
def language_host() -> Path:
    """The program of from_source/pulumi, as `make setup` has built it."""
    if not HOST.exists():
        pytest.skip("a Pulumi CLI is installed here, with a language host of its own")
    return HOST


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project, its stack and their backend as the CLI makes them, to be copied.

    The virtual environment is named relative to the project, as stacks/quickstart does.
    """
    folder = tmp_path_factory.mktemp("new-project")
    project = folder / "project"
    project.mkdir()
    (folder / "venv").symlink_to(ROOT / ".venv")
    (project / "Pulumi.yaml").write_text(
        "name: tiny\nruntime: {name: python, options: {virtualenv: ../venv}}\n"
    )
    env = pulumi_environment(folder)
    subprocess.run(
        ["pulumi", "stack", "init", "test"], cwd=project, env=env, check=True, timeout=600
    )
    return folder


@pytest.fixture
def project(
    tmp_path: Path, pulumi_env: dict[str, str], language_host: Path, new_project: Path
) -> Project:
    for each in ("project", "backend"):
        shutil.copytree(new_project / each, tmp_path / each, dirs_exist_ok=True)
    (tmp_path / "venv").symlink_to(ROOT / ".venv")
    assert shutil.which("pulumi-language-python", path=pulumi_env["PATH"]) == str(language_host)
    return Project(tmp_path / "project", pulumi_env)
