"""`trainer-infra delete`, `retry`, `suspend` and `resume`: runs are changed, several at a time.

Nothing is changed when one of the names is unknown. One that cannot be changed does not keep the others.
A deletion waits until the pods are gone; runs that options choose are listed first, and asked for. A run
that is retried keeps its name and its owner, so the program that declares it agrees: the next `pulumi up`
waits for it as before. Of runs that options choose, those that have ended, or are already as they shall be,
are neither suspended nor resumed.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import typer

from trainer_infra.cli import get, named_runs, screen
from trainer_infra.cli.options import RunChoice
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy.operations.targets import LOCAL
from trainer_infra.errors import Refused, TrainerInfraError
from trainer_infra.local import disk_use, run_folder
from trainer_infra.runs import sentences
from trainer_infra.runs.run import SUSPENDED, Run

AT_A_TIME: Final = 16
"""Runs that are changed at the same time."""
TIMEOUT: Final = 60.0
"""Seconds that a deletion waits, as the provider's does."""


def delete(
    place: RunPlace, run_names: Sequence[str], *, timeout: float, ignore_not_found: bool
) -> int:
    """Delete runs of the place's namespace by name; the exit code."""
    if ignore_not_found:
        found = (named_runs.exact_run(place, name) for name in dict.fromkeys(run_names))
        runs = tuple(run for run in found if run is not None)
    else:
        runs = named_runs.known_runs(place, run_names)
    for run in runs:
        if run.owner.stack:
            stack = f"stack {run.owner.stack} of project {run.owner.project}"
            typer.echo(f"{run.name} belongs to {stack}: its next refresh finds it gone", err=True)
    return _remove_runs(place, runs, lambda run: run.name, timeout)


def delete_selected(place: RunPlace, choice: RunChoice, *, timeout: float, confirmed: bool) -> int:
    """Delete the runs that options choose; the exit code."""
    runs = named_runs.chosen_runs(place, choice)
    if not runs:
        return 0
    stacks = dict.fromkeys(named_runs.stack_name(run.owner) for run in runs if run.owner.stack)
    if stacks:
        whose = f"stack{'s' * (len(stacks) > 1)} {', '.join(stacks)}"
        typer.echo(f"runs of {whose}: the next refresh finds them gone", err=True)
    table = get.run_rows(place, runs, screen.screen_of_stdout())
    return confirm_and_remove(place, runs, table, confirmed=confirmed, timeout=timeout)


def retry(place: RunPlace, choice: RunChoice) -> int:
    """Run runs again: those named, or those that failed of those that options choose; the exit code.

    Raises:
        Refused: A run that is named has not failed; then none is started.
    """
    runs = named_runs.chosen_runs(place, choice)
    failed = [run for run in runs if sentences.may_be_retried(run)]
    if choice.names and len(failed) < len(runs):
        raise Refused("\n".join(sentences.no_retry(run) for run in runs if run not in failed))
    if runs and not failed:
        typer.echo(f"none of the {len(runs)} chosen has failed", err=True)

    def change(run: Run) -> str:
        again = place.target.retry(run.key)
        return f"{run.name} runs again; `{sentences.command('logs -f', again)}` follows it"

    return _change_each(failed, change)


def suspend(place: RunPlace, choice: RunChoice, *, value: bool) -> int:
    """Suspend runs, or resume them; the exit code.

    Raises:
        Refused: A run that is named has ended.
    """
    word = "suspended" if value else "resumed"
    runs = named_runs.chosen_runs(place, choice)
    ended = [run for run in runs if sentences.is_finished(run)]
    if ended and choice.names:
        raise Refused(
            "\n".join(f"{run.name} has ended as {run.phase} and cannot be {word}" for run in ended)
        )
    if not choice.names:
        others = [run for run in runs if run not in ended and _is_held(run) is not value]
        if runs and not others:
            typer.echo(f"none of the {len(runs)} chosen can be {word}", err=True)
        runs = others

    def change(run: Run) -> str:
        place.target.suspend(run.key, value)
        if _is_held(run) is not value:
            return f"{run.name} {word}"
        how = "suspended already" if value else f"not suspended, it is {run.phase.lower()}"
        return f"{run.name} is {how}"

    return _change_each(runs, change)


def _change_each(
    runs: Sequence[Run], change: Callable[[Run], str], done: Callable[[Run], str] | None = None
) -> int:
    """Change runs, several at a time, and say of each, in order, what became of it; the exit code.

    `change` gives what to say of one, or with `done` what is left of it, if anything; `done` gives what to say of one of
    which nothing is left.
    """

    def one(run: Run) -> TrainerInfraError | str:
        try:
            return change(run)
        except TrainerInfraError as error:
            return error

    failed = False
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        for run, said in zip(runs, workers.map(one, runs), strict=True):
            is_error, is_left = isinstance(said, TrainerInfraError), done is not None and bool(said)
            failed |= is_error
            text = str(said) or (done(run) if done else "")
            typer.echo(text, err=is_error or is_left)
    return int(failed)


def _remove_runs(
    place: RunPlace, runs: Sequence[Run], shown: Callable[[Run], str], timeout: float
) -> int:
    """Delete runs and say of each, in order, that it is gone or what is left; the exit code."""

    def change(run: Run) -> str:
        # Of another owner since it was listed: then it is not ours to delete.
        return place.target.delete(run.key, timeout)

    return _change_each(runs, change, lambda run: f"{shown(run)} deleted")


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

    `timeout` is the seconds that each may take to end.
    """
    for line in lines:
        typer.echo(line)
    if not screen.is_confirmed(len(runs), confirmed=confirmed):
        return 0
    paths = [
        run_folder.folder_of(run.namespace, run.name).path for run in runs if place.kind == LOCAL
    ]
    before = disk_use.bytes_freed(paths)
    code = _remove_runs(place, runs, name_shown, timeout)
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


def _is_held(run: Run) -> bool:
    """Whether a run is suspended, or will be once its pods have ended."""
    return run.phase == SUSPENDED or run.settings.suspended
