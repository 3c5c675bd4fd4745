"""A watched stack on each engine: the real CLI in `make soak`, for its half costs two seconds a command."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.engine.watched import GOLDEN, Watched
from tests.deploy.project import Stack, processes_of
from tests.engine.stack import EngineStack

WRITES = "WRITE_CONTRACT"
"""Variable with which `write_golden` has the real CLI's half write what it does."""


@pytest.fixture(params=["engine", pytest.param("cli", marks=pytest.mark.soak)])
def watched(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    pulumi_env: dict[str, str],
    new_stack_of_this_machine: Path,
) -> Iterator[Watched]:
    for each in ("project", "backend"):
        shutil.copytree(new_stack_of_this_machine / each, tmp_path / each, dirs_exist_ok=True)
    cli = request.param == "cli"
    kind = Stack if cli else EngineStack
    name = request.node.originalname.removeprefix("test_")
    made = Watched(kind(tmp_path / "project", pulumi_env), cli, GOLDEN / f"{name}.json")
    yield made
    for process in processes_of(tmp_path):
        process.kill()


def agreed(watched: Watched) -> None:
    """Fail unless a stack did what the real CLI did; the CLI's half writes that where it is told to."""
    if not os.environ.get(WRITES):
        watched.agrees()
    elif watched.cli:
        watched.write()
