"""The runs that a command changes: those named, or those that options choose; and doing it with each.

One that cannot be changed does not keep the others.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import typer

from trainer_infra.cli import named_runs
from trainer_infra.cli.options import RunSelection
from trainer_infra.cli.target import RunPlace
from trainer_infra.errors import TrainerInfraError
from trainer_infra.runs.run import Run
from trainer_infra.words import listed

AT_A_TIME: Final = 16


@dataclass(frozen=True, slots=True)
class RunChoice:
    """What the command line says of the runs that it is about: names, or options."""

    names: Sequence[str]
    """Those of runs; then nothing else is asked."""
    selection: RunSelection
    """What is asked of runs."""
    every_namespace: bool
    """Whether those of all namespaces are meant."""

    def judge(self) -> None:
        """Refuse a command line that says neither, or both.

        Raises:
            typer.BadParameter: it does.
        """
        if bool(self.names) == bool(self.selection):
            raise typer.BadParameter(
                "give the names of runs, or options that choose them, such as --stack: "
                f"{'not both' if self.names else 'one of both'}"
            )
        if self.names and self.every_namespace:
            raise typer.BadParameter(
                "--all-namespaces is for options that choose runs, not for names"
            )


def chosen_runs(place: RunPlace, choice: RunChoice) -> Sequence[Run]:
    """The runs; where options choose none, none, and it is said where was looked.

    Raises:
        NotAvailable: names every name that is unknown.
    """
    if choice.names:
        return named_runs.known_runs(place, choice.names)
    namespace = None if choice.every_namespace else place.namespace
    listing = place.target.list_runs(namespace)
    named_runs.warn_of(listing)
    found = named_runs.select_runs(listing.runs, choice.selection)
    if not found:
        typer.echo(no_runs(place, namespace, choice.selection, listing.runs), err=True)
    return found


def no_runs(
    place: RunPlace, namespace: str | None, asked: RunSelection, there: Sequence[Run]
) -> str:
    """A sentence where there is no such run.

    Args:
        place: where was looked.
        namespace: of the runs; None for all.
        asked: what was asked of them.
        there: the runs of that place.
    """
    where = f"{f' in namespace {namespace}' if namespace else ''} {place.shown}"
    if not asked or not there:
        return f"no runs{where}"
    stacks = sorted({named_runs.stack_name(each.owner) for each in there} - {""})
    others = f"; the runs there are of {listed(stacks, most=named_runs.SHOWN)}" if stacks else ""
    return f"no run{where} is all that the options ask for{others}"


def change_each(
    runs: Sequence[Run], change: Callable[[Run], str], done: Callable[[Run], str] | None = None
) -> int:
    """Change runs, several at a time, and say of each, in order, what became of it; the exit code.

    Args:
        runs: those to change.
        change: changes one; what to say of it, or with `done` what is left of it, if anything.
        done: what to say of one of which nothing is left.
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
