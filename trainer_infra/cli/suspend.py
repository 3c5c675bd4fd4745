"""`trainer-infra suspend` and `resume`: hold runs back, and let them go on.

Nothing is changed when one of the names is unknown or has ended. Of runs that options choose, those
that have ended, or are already as they shall be, are left as they are.
"""

import typer

from trainer_infra.cli import chosen_runs
from trainer_infra.cli.chosen_runs import RunChoice
from trainer_infra.cli.target import RunPlace
from trainer_infra.errors import Refused
from trainer_infra.runs import sentences
from trainer_infra.runs.run import SUSPENDED, Run


def suspend(place: RunPlace, choice: RunChoice, *, value: bool) -> int:
    """Suspend runs, or resume them; the exit code.

    Raises:
        NotAvailable: names every name that is unknown.
        Refused: A run that is named has ended.
    """
    word = "suspended" if value else "resumed"
    runs = chosen_runs.chosen_runs(place, choice)
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

    return chosen_runs.change_each(runs, change)


def _is_held(run: Run) -> bool:
    """Whether a run is suspended, or will be once its pods have ended."""
    return run.phase == SUSPENDED or run.settings.suspended
