"""`trainer-infra retry`: run again what failed, as it was submitted.

The run keeps its name and its owner, so the program that declares it agrees: the next `pulumi up`
waits for it as before.
"""

import typer

from trainer_infra.cli import chosen_runs
from trainer_infra.cli.chosen_runs import RunChoice
from trainer_infra.cli.target import RunPlace
from trainer_infra.errors import Refused
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run


def retry(place: RunPlace, choice: RunChoice) -> int:
    """Run runs again: those named, or those that failed of those that options choose; the exit code.

    Raises:
        NotAvailable: names every name that is unknown.
        Refused: A run that is named has not failed; then none is started.
    """
    runs = chosen_runs.chosen_runs(place, choice)
    failed = [run for run in runs if sentences.may_be_retried(run)]
    if choice.names and len(failed) < len(runs):
        raise Refused("\n".join(sentences.no_retry(run) for run in runs if run not in failed))
    if runs and not failed:
        typer.echo(f"none of the {len(runs)} chosen has failed", err=True)

    def change(run: Run) -> str:
        again = place.target.retry(run.key)
        return f"{run.name} runs again; `{sentences.command('logs -f', again)}` follows it"

    return chosen_runs.change_each(failed, change)
