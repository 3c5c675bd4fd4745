"""`trainer-infra logs`: the lines of a run's pods, each with its pod unless one pod is asked for.

Called by `main`. A pod may be named whole, or as its lines show it (`node-0-1`).
"""

from collections.abc import Iterator

import typer

from trainer_infra.cli import known
from trainer_infra.errors import NotAvailable
from trainer_infra.local import runs, told


def show(key: tuple[str, str], *, pod: str | None, follow: bool, tail: int | None) -> None:
    """Print lines of the run of a namespace and name.

    Raises:
        NotAvailable: there is no such run, or no such pod in it.
    """
    run = known.run(*key)

    def lines(only: str | None) -> Iterator[tuple[str, str]]:
        return runs.logs(*key, pod=only, follow=follow, tail=tail)

    if pod is None:
        for source, line in lines(None):
            typer.echo(f"{told.short(run, source)}: {line}")
        return
    try:
        found = lines(f"{run.name}-{pod}")
    except NotAvailable:
        found = lines(pod)
    for _, line in found:
        typer.echo(line)
