"""`trainer-infra delete`: end runs and remove what is left of them.

Nothing is deleted when one of the names is unknown. Runs that options choose are listed first, and
asked for.
"""

from collections.abc import Sequence

import typer

from trainer_infra.cli import chosen_runs, get, named_runs, removal, screen, selection
from trainer_infra.cli.chosen_runs import RunChoice
from trainer_infra.cli.target import RunPlace


def delete(
    place: RunPlace, run_names: Sequence[str], *, timeout: float, ignore_not_found: bool
) -> int:
    """Delete runs of the place's namespace by name; the exit code.

    Raises:
        NotAvailable: names every name that is unknown.
    """
    if ignore_not_found:
        found = (named_runs.exact_run(place, name) for name in dict.fromkeys(run_names))
        runs = tuple(run for run in found if run is not None)
    else:
        runs = named_runs.known_runs(place, run_names)
    for run in runs:
        if run.owner.stack:
            stack = f"stack {run.owner.stack} of project {run.owner.project}"
            typer.echo(f"{run.name} belongs to {stack}: its next refresh finds it gone", err=True)
    return removal.remove_runs(place, runs, lambda run: run.name, timeout)


def delete_selected(place: RunPlace, choice: RunChoice, *, timeout: float, confirmed: bool) -> int:
    """Delete the runs that options choose; the exit code."""
    runs = chosen_runs.chosen_runs(place, choice)
    if not runs:
        return 0
    stacks = dict.fromkeys(selection.stack_name(run.owner) for run in runs if run.owner.stack)
    if stacks:
        whose = f"stack{'s' * (len(stacks) > 1)} {', '.join(stacks)}"
        typer.echo(f"runs of {whose}: the next refresh finds them gone", err=True)
    table = get.run_rows(place, runs, screen.screen_of_stdout())
    return removal.confirm_and_remove(place, runs, table, confirmed=confirmed, timeout=timeout)
