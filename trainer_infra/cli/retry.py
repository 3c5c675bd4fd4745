"""`trainer-infra retry`: run again what failed, as it was submitted.

Called by `runs`. The run keeps its name and its owner, so the program that declares it agrees: the
next `pulumi up` waits for it as before.
"""

from collections.abc import Sequence

import typer

from trainer_infra.cli import named_runs
from trainer_infra.cli.target import RunPlace
from trainer_infra.errors import Refused
from trainer_infra.runs import sentences


def retry(place: RunPlace, run_names: Sequence[str]) -> None:
    """Run runs of the place's namespace again by name.

    Raises:
        NotAvailable: names every name that is unknown.
        Refused: A run has not failed; then none is started.
    """
    runs = named_runs.known_runs(place, run_names)
    if others := [sentences.no_retry(run) for run in runs if not sentences.may_be_retried(run)]:
        raise Refused("\n".join(others))
    for run in runs:
        again = place.target.retry(run.key)
        typer.echo(f"{run.name} runs again; `{sentences.command('logs -f', again)}` follows it")
