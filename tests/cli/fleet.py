"""Runs of several stacks in the state folder of a command, of the age that a test wants."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.command import Command
from tests.local.jobs import Job, finished, shell
from trainer_infra import names
from trainer_infra.runs.run import Owner, Run

LONG = shell("sleep 600")


def owner(project: str, stack: str, resource: str, backend: str = "") -> Owner:
    """Who declares a run in a Pulumi program."""
    urn = f"urn:pulumi:{stack}::{project}::pulumi-python:dynamic/trainer:TrainJob::{resource}"
    return Owner(project, stack, urn, backend)


OF_COMMAND = Owner()
"""Who runs `trainer-infra run`."""


@contextmanager
def folders_of(command: Command) -> Iterator[None]:
    """The state folder and the cache of a command, for calls in this process."""
    before = {name: os.environ.get(name) for name in (names.STATE_HOME, names.CACHE_HOME)}
    os.environ.update({name: command.env[name] for name in before})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def ended(command: Command, name: str, whose: Owner = OF_COMMAND, days: float = 0) -> Run:
    """A run that ended well, so many days ago."""
    with folders_of(command):
        run = finished(Job(name=name, owner=whose).submit())
    if days:
        age(command, name, days)
    return run


def failed(command: Command, name: str, whose: Owner = OF_COMMAND) -> Run:
    """A run that failed just now."""
    with folders_of(command):
        return finished(Job(shell("exit 3"), name=name, owner=whose).submit())


def running(command: Command, name: str, whose: Owner = OF_COMMAND) -> Run:
    """A run that goes on."""
    with folders_of(command):
        return Job(LONG, name=name, owner=whose).submit()


def age(command: Command, name: str, days: float) -> None:
    """Say in its folder that a run is so old: nobody writes there once it has ended."""
    then = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    folder = Path(command.env[names.STATE_HOME]) / "runs" / "default" / name
    for file in ("run.json", "status.json"):
        content = json.loads((folder / file).read_text())
        dates = {key: then for key in ("created", "finished") if content.get(key)}
        (folder / file).write_text(json.dumps({**content, **dates}))
