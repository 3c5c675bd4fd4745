"""`trainer-infra suspend` and `resume`: hold runs back, and let them go on.

Called by `runs`. Nothing is changed when one of the names is unknown or has ended.
"""

from collections.abc import Sequence

import typer

from trainer_infra.cli import named_runs
from trainer_infra.cli.target import RunPlace
from trainer_infra.errors import Refused
from trainer_infra.runs import sentences


def suspend(place: RunPlace, run_names: Sequence[str], *, value: bool) -> None:
    """Suspend runs of the place's namespace by name, or resume them.

    Raises:
        NotAvailable: names every name that is unknown.
        Refused: A run has ended, or Kueue suspends and resumes it.
    """
    word = "suspended" if value else "resumed"
    runs = named_runs.known_runs(place, run_names)
    ended = [run for run in runs if sentences.is_finished(run)]
    if ended:
        raise Refused(
            "\n".join(f"{run.name} has ended as {run.phase} and cannot be {word}" for run in ended)
        )
    for run in runs:
        place.target.suspend(run.key, value)
        typer.echo(f"{run.name} {word}")
