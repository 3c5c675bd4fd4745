"""`trainer-infra delete`: end runs and remove what is left of them.

Called by `main`. Nothing is deleted when one of the names is unknown.
"""

from collections.abc import Sequence

import typer

from trainer_infra.cli import known
from trainer_infra.errors import NotAvailable
from trainer_infra.local import runs


def delete(
    run_names: Sequence[str], namespace: str, *, timeout: float, ignore_not_found: bool
) -> None:
    """Delete the runs of a namespace by name.

    Raises:
        NotAvailable: names every name that is unknown.
    """
    found = {name: runs.get(namespace, name) for name in run_names}
    unknown = [name for name, run in found.items() if run is None]
    if unknown and not ignore_not_found:
        raise NotAvailable("\n".join(known.missing(namespace, name) for name in unknown))
    for run in found.values():
        if run is None:
            continue
        if run.owner.stack:
            stack = f"stack {run.owner.stack} of project {run.owner.project}"
            typer.echo(f"{run.name} belongs to {stack}: its next refresh finds it gone", err=True)
        warning = runs.delete(run.namespace, run.name, run.uid, timeout)
        typer.echo(warning or f"{run.name} deleted", err=bool(warning))
