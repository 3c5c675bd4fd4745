"""`trainer-infra gc`: runs of a Pulumi stack that its state does not know.

Called by `main`. The engine forgets a resource whose create was killed, so its run is in no state
(DESIGN.md, rule 5). A run is known by its uid in the outputs of any resource of the state.
"""

import json
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import typer
import yaml

from trainer_infra.errors import NotAvailable
from trainer_infra.local import runs, told
from trainer_infra.local.runs import Run

PROJECT_FILES: Final = ("Pulumi.yaml", "Pulumi.yml")


def collect(stack: str, *, confirmed: bool) -> None:
    """List the runs that no state owns, ask, and delete them.

    Raises:
        NotAvailable: no Pulumi program here, no CLI, or no such stack.
    """
    folder, project = _project(Path.cwd())
    state = _state(folder, stack)
    left = _left(project, stack.rpartition("/")[2], state)
    if not left:
        typer.echo(f"no run of stack {stack} of project {project} is without a resource")
        return
    creating = frozenset(_creating(state))
    typer.echo(f"runs of stack {stack} of project {project} that its state does not know:")
    for run in left:
        # `up` may be running right now, in another terminal.
        note = ", its create did not end yet" if run.owner.urn in creating else ""
        where = f"{run.namespace}/{run.name}"
        typer.echo(f"  {where} ({run.phase}, {told.length(run.created)} old{note})")
    if not confirmed and not typer.confirm(f"Delete {len(left)}?"):
        typer.echo("nothing is deleted")
        return
    for run in left:
        warning = runs.delete(run.namespace, run.name, run.uid)
        typer.echo(warning or f"{run.namespace}/{run.name} deleted", err=bool(warning))


def _project(folder: Path) -> tuple[Path, str]:
    """The folder and the name of the Pulumi program that a folder is in."""
    for each in (folder, *folder.parents):
        for name in PROJECT_FILES:
            if (each / name).is_file():
                settings = yaml.safe_load((each / name).read_text(encoding="utf-8"))
                return each, str(settings["name"])
    raise NotAvailable(
        f"{folder} is in no Pulumi program: no Pulumi.yaml here or above; "
        "run gc in the program's folder"
    )


def _state(folder: Path, stack: str) -> Mapping[str, Any]:
    """The stack's deployment, as `pulumi stack export` has it."""
    pulumi = shutil.which("pulumi")
    if pulumi is None:
        raise NotAvailable(
            "gc needs the `pulumi` command, which is not on PATH: activate the virtual "
            "environment of `make setup`, or install Pulumi"
        )
    command = [pulumi, "stack", "export", "--stack", stack, "--non-interactive"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotAvailable(
            f"the state of stack {stack} cannot be read: {done.stderr.strip() or done.stdout}"
        )
    state: Mapping[str, Any] = json.loads(done.stdout).get("deployment") or {}
    return state


def _left(project: str, stack: str, state: Mapping[str, Any]) -> tuple[Run, ...]:
    """This machine's runs of the stack that no resource of its state has as its own."""
    owned = {
        (resource.get("outputs") or {}).get("uid") for resource in state.get("resources") or ()
    }
    return tuple(
        run
        for run in runs.list_runs()
        if (run.owner.project, run.owner.stack) == (project, stack)
        and run.host == platform.node()
        and run.uid not in owned
    )


def _creating(state: Mapping[str, Any]) -> Iterator[str]:
    """URNs whose create has begun and not ended; a killed `up` leaves them as well."""
    for operation in state.get("pending_operations") or ():
        yield operation["resource"]["urn"]
