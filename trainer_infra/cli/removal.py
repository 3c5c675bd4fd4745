"""Runs are deleted, several at a time: each waits until its pods are gone.

One that cannot be deleted does not keep the others.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import typer

from trainer_infra.cli import chosen_runs
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy.operations.targets import LOCAL
from trainer_infra.local import disk_use, run_folder
from trainer_infra.runs.run import Run

TIMEOUT: Final = 60.0
"""Seconds that a deletion waits, as the provider's does."""


def remove_runs(
    place: RunPlace, runs: Sequence[Run], shown: Callable[[Run], str], timeout: float = TIMEOUT
) -> int:
    """Delete runs and say of each, in order, that it is gone or what is left; the exit code."""

    def change(run: Run) -> str:
        # Of another owner since it was listed: then it is not ours to delete.
        return place.target.delete(run.key, timeout)

    return chosen_runs.change_each(runs, change, lambda run: f"{shown(run)} deleted")


def collect_unowned(place: RunPlace, namespace: str) -> None:
    """Delete what killed submits left for good in a cluster, and say what that was."""
    for each in place.cluster.collect_unowned(namespace) if place.cluster else ():
        typer.echo(f"{each} is deleted: a submit that was killed left it, and no run needs it")


def confirm_and_remove(
    place: RunPlace,
    runs: Sequence[Run],
    lines: Iterable[str],
    *,
    confirmed: bool,
    timeout: float = TIMEOUT,
) -> int:
    """Show runs, ask, delete them, and say how much that freed on this machine; the exit code.

    Args:
        place: where they are.
        runs: those to delete.
        lines: how they are shown.
        confirmed: whether to delete without asking.
        timeout: seconds that each may take to end.
    """
    for line in lines:
        typer.echo(line)
    if not confirmed and not typer.confirm(f"Delete {len(runs)}?"):
        typer.echo("nothing is deleted")
        return 0
    paths = [
        run_folder.folder_of(run.namespace, run.name).path for run in runs if place.kind == LOCAL
    ]
    before = disk_use.bytes_freed(paths)
    code = remove_runs(place, runs, name_shown, timeout)
    if paths:
        typer.echo(f"{disk_use.size_text(before - disk_use.bytes_freed(paths))} freed")
    return code


def name_shown(run: Run) -> str:
    """A run as lists of several namespaces show it."""
    return f"{run.namespace}/{run.name}"


def size_shown(place: RunPlace, run: Run) -> str:
    """What a run takes on this machine's disk, as a part of a list: `, 310 MB`; empty elsewhere."""
    if place.kind != LOCAL:
        return ""
    return f", {disk_use.size_text(disk_use.size_of(run_folder.folder_of(run.namespace, run.name).path))}"
