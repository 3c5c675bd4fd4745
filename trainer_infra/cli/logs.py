"""`trainer-infra logs`: the lines of a run's pods, each with its pod unless one pod is asked for.

A pod may be named whole, or as its lines show it (`node-0-1`), on a cluster also without the five
characters that tell its tries apart.
"""

import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from threading import Event, Thread
from typing import Final

import typer

from trainer_infra.cli import named_runs
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy.operations.targets import KUBERNETES
from trainer_infra.errors import NotAvailable, TrainerInfraError
from trainer_infra.runs import sentences
from trainer_infra.runs.run import CREATED, LOST, SUSPENDED, LogSelection, Run, RunKey

INTERVAL: Final = 1.0
"""Seconds between two looks at a run that has not started."""
WATCH: Final = 5.0
"""Seconds between two looks at a run whose lines are followed."""


def show(place: RunPlace, name: str, wanted: LogSelection) -> None:
    """Print lines of the run that is meant by a name, or of one of its pods."""
    run = named_runs.known_run(place, name)
    if wanted.follow:
        # The run once a pod of it has started or it has ended; says meanwhile what it waits for.
        # A pod whose sidecar alone has started may never come to what is to be read.
        said = ""
        while not _is_over(run) and (not run.started or (run.stuck and run.phase == CREATED)):
            why = _waits(run)
            if why != said:
                typer.echo(f"{run.name} {why}", err=True)
            said = why
            run = _later(place, run)
        # A run that is being deleted looks lost until its record is gone too.
        run = _later(place, run) if run.phase == LOST else run
    lines = _opened(place, run, wanted)
    with _watched(place, run) if wanted.follow else nullcontext():
        for pod, line in lines:
            typer.echo(line if wanted.pod else f"{sentences.short_pod_name(run, pod)}: {line}")


@contextmanager
def _watched(place: RunPlace, run: Run) -> Iterator[None]:
    """Say meanwhile what does not go on: a pod that writes says nothing of one that cannot start."""
    over = Event()
    watch = Thread(target=_watch, args=(place, run, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join(INTERVAL)


def _watch(place: RunPlace, run: Run, over: Event) -> None:
    said = ""
    while not over.wait(WATCH):
        # Without an answer the lines end as well, and say why.
        with suppress(TrainerInfraError, CancelledError):
            found = place.target.get(*run.key.address)
            if found is not None and found.stuck and found.stuck != said:
                said = found.stuck
                typer.echo(f"{run.name} is stuck: {said}", err=True)


def _opened(place: RunPlace, run: Run, wanted: LogSelection) -> Iterator[tuple[str, str]]:
    """The lines; of a pod of a cluster that may still be made once it is."""
    said = ""
    while True:
        try:
            return _lines(place, run, wanted)
        except NotAvailable as error:
            if not wanted.follow or place.kind != KUBERNETES or _is_over(run):
                raise
            if str(error) != said:
                typer.echo(f"waits for it: {error}", err=True)
            said = str(error)
        run = _later(place, run)


def _lines(place: RunPlace, run: Run, wanted: LogSelection) -> Iterator[tuple[str, str]]:
    def of(pod: str | None) -> Iterator[tuple[str, str]]:
        return place.target.logs(RunKey(*run.key.address), replace(wanted, pod=pod))

    if wanted.pod is None:
        return of(None)
    try:
        return of(f"{run.name}-{wanted.pod}")
    except NotAvailable:
        return of(wanted.pod)


def _later(place: RunPlace, run: Run) -> Run:
    time.sleep(INTERVAL)
    found = place.target.get(*run.key.address)
    if found is None:
        raise NotAvailable(f"run {run.name} is gone: it was deleted while its log was waited for")
    return found


def _is_over(run: Run) -> bool:
    return sentences.is_finished(run) or run.phase == LOST


def _waits(run: Run) -> str:
    """Why nothing of a run has started."""
    if run.stuck:
        return f"cannot start: {run.stuck}"
    if run.waiting_for:
        return f"waits: {run.waiting_for}"
    if run.phase == SUSPENDED:
        return "is suspended and waits until you resume it"
    return "waits until its pods exist"
