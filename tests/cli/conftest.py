"""The command in a folder of its own; runs that a test leaves are deleted after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Command, command_in


def _deleted(command: Command) -> None:
    for run in command.runs():
        command("delete", run["name"], "-n", run["namespace"], "--ignore-not-found")


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Command]:
    """For one test."""
    command = command_in(tmp_path)
    yield command
    if (tmp_path / "home").exists():
        _deleted(command)


@pytest.fixture(scope="module")
def shared_cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """For the tests of one file that only look."""
    command = command_in(tmp_path_factory.mktemp("shared"))
    yield command
    _deleted(command)
