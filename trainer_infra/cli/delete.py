"""`trainer-infra delete`: end runs and remove what is left of them.

Called by `main`. Nothing is deleted when one of the names is unknown.
"""

from collections.abc import Sequence

import typer

from trainer_infra.cli import known, removal
from trainer_infra.cli.target import Place


def delete(
    place: Place, run_names: Sequence[str], *, timeout: float, ignore_not_found: bool
) -> int:
    """Delete runs of the place's namespace by name; the exit code.

    Raises:
        NotAvailable: names every name that is unknown.
    """
    if ignore_not_found:
        found = (place.target.get(place.namespace, name) for name in dict.fromkeys(run_names))
        runs = tuple(run for run in found if run is not None)
    else:
        runs = known.runs(place, run_names)
    for run in runs:
        if run.owner.stack:
            stack = f"stack {run.owner.stack} of project {run.owner.project}"
            typer.echo(f"{run.name} belongs to {stack}: its next refresh finds it gone", err=True)
    return removal.remove(place, runs, lambda run: run.name, timeout)
