"""Runs are deleted, several at a time: each waits until its pods are gone.

Called by `delete` and `gc`. One that cannot be deleted does not keep the others.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import typer

from trainer_infra.cli.target import Place
from trainer_infra.errors import TrainerInfraError
from trainer_infra.lifecycle.run import Run

AT_A_TIME: Final = 16
TIMEOUT: Final = 60.0
"""Seconds that a deletion waits, as the provider's does."""


def remove(
    place: Place, runs: Sequence[Run], shown: Callable[[Run], str], timeout: float = TIMEOUT
) -> int:
    """Delete runs and say of each, in order, that it is gone or what is left; the exit code."""

    def one(run: Run) -> TrainerInfraError | str:
        try:
            key = (run.namespace, run.name, run.uid)
            # Of another owner since it was listed: then it is nobody's here to delete.
            return place.target.delete(*key, timeout, owner=run.owner)
        except TrainerInfraError as error:
            return error

    failed = False
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        for run, said in zip(runs, workers.map(one, runs), strict=True):
            failed |= isinstance(said, TrainerInfraError)
            typer.echo(str(said) or f"{shown(run)} deleted", err=bool(str(said)))
    return int(failed)
