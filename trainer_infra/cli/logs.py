"""`trainer-infra logs`: the lines of a run's pods, each with its pod unless one pod is asked for.

Called by `main`.
"""

import typer

from trainer_infra.cli import known, told
from trainer_infra.errors import NotAvailable
from trainer_infra.local import runs
from trainer_infra.local.runs import Run


def show(key: tuple[str, str], *, pod: str | None, follow: bool, tail: int | None) -> None:
    """Print lines of the run of a namespace and name.

    Raises:
        NotAvailable: there is no such run, or no such pod in it.
    """
    run = known.run(*key)
    only = None if pod is None else _whole(run, pod)
    for source, line in runs.logs(*key, pod=only, follow=follow, tail=tail):
        typer.echo(line if only else f"{told.short(run, source)}: {line}")


def _whole(run: Run, pod: str) -> str:
    """A pod's whole name, given whole or as log lines show it."""
    pods = [each.pod for each in run.nodes]
    for each in pods:
        if pod in (each, told.short(run, each)):
            return each
    here = ", ".join(told.short(run, each) for each in pods) or "none yet"
    raise NotAvailable(f"run {run.name} has no pod {pod!r}; its pods are: {here}")
