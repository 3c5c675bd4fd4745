"""`trainer-infra gc`: runs of a Pulumi stack that its state does not know.

Called by `main`. The engine forgets a resource whose create was killed, so its run is in no state
(DESIGN.md, rule 5). A run is known by its uid in the outputs of any resource of the state, and a
member of a batch by its uid among those of the batch's outputs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import typer

from trainer_infra.cli import removal, target
from trainer_infra.cli.target import Asked, Place
from trainer_infra.deploy import stack_config
from trainer_infra.deploy.stack_config import Project
from trainer_infra.errors import NotAvailable
from trainer_infra.lifecycle import told
from trainer_infra.lifecycle.run import Run

JSON = Mapping[str, Any]

MEMBER: Final = "#"
"""Between the URN of a batch and the name of a member, in whose run it is the owner's URN."""


def collect(asked: Asked, stack: str, *, confirmed: bool) -> int:
    """List the runs that no state owns, ask, and delete them; the exit code.

    Args:
        asked: where the stack's runs are; what is not given is taken from the stack.
        stack: its name, perhaps with organization and project.
        confirmed: whether to delete without asking.

    Raises:
        NotAvailable: no Pulumi program here, no CLI, no such stack, or a place that cannot be
            reached.
    """
    project, name = _project(Path.cwd()), stack.rpartition("/")[2]
    place = target.of_stack(asked, project, name)
    # Listed before the state is read: what is created in between must not look lost.
    runs = _of_stack(place, asked.namespace, (project.name, name))
    state = _state(project, stack)
    owned = frozenset(_owned(state))
    left = [run for run in runs if run.uid not in owned]
    whose = f"of stack {stack} of project {project.name}"
    if not left:
        typer.echo(f"no run {whose} is without a resource {place.shown}")
        return 0
    typer.echo(f"runs {whose} {place.shown} that its state does not know:")
    creating = frozenset(_creating(state))
    for run in left:
        # `up` may be running right now, in another terminal.
        declared = {run.owner.urn, run.owner.urn.rpartition(MEMBER)[0]}
        note = ", its create did not end yet" if declared & creating else ""
        typer.echo(f"  {_shown(run)} ({run.phase}, {told.length(run.created)} old{note})")
    if not confirmed and not typer.confirm(f"Delete {len(left)}?"):
        typer.echo("nothing is deleted")
        return 0
    return removal.remove(place, left, _shown)


def _shown(run: Run) -> str:
    return f"{run.namespace}/{run.name}"


def _project(folder: Path) -> Project:
    found = stack_config.nearest(folder)
    if found is None:
        raise NotAvailable(
            f"{folder} is in no Pulumi program: no Pulumi.yaml here or above; "
            "run gc in the program's folder"
        )
    return found


def _state(project: Project, stack: str) -> JSON:
    """The stack's deployment, as `pulumi stack export` has it."""
    asked = ["stack", "export", "--stack", stack]
    exported = stack_config.pulumi(project, asked, f"the state of stack {stack}")
    state: JSON = json.loads(exported).get("deployment") or {}
    return state


def _of_stack(place: Place, namespace: str | None, owner: tuple[str, str]) -> Sequence[Run]:
    """The place's runs of a project and stack; of a home shared by machines, this machine's."""
    found = [
        run
        for run in place.target.list_runs(namespace)
        if (run.owner.project, run.owner.stack) == owner
    ]
    if place.kind == target.KUBERNETES:
        return found
    here = place.target.host()
    return [run for run in found if run.host == here]


def _owned(state: JSON) -> Iterator[str]:
    """The uids of the runs that resources have."""
    for resource in state.get("resources") or ():
        outputs = resource.get("outputs") or {}
        members = outputs.get("members")
        found = (outputs, *(members.values() if isinstance(members, Mapping) else ()))
        uids = (each.get("uid") for each in found if isinstance(each, Mapping))
        yield from (uid for uid in uids if isinstance(uid, str) and uid)


def _creating(state: JSON) -> Iterator[str]:
    """URNs whose create has begun and not ended; a killed `up` leaves them as well."""
    for operation in state.get("pending_operations") or ():
        yield operation["resource"]["urn"]
