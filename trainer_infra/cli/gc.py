"""`trainer-infra gc`: runs of a Pulumi stack that its state does not know.

Called by `main`. The engine forgets a resource whose create was killed, so its run is in no state
(DESIGN.md, rule 5). A run is known by its uid in the outputs of any resource of the state, and a
member of a batch by its uid among those of the batch's outputs. Only what a stack of this very
backend made is deleted, and only when no other stack of it has the run by now: stacks are renamed,
and resources moved between them.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import typer

from trainer_infra.cli import known, removal, target
from trainer_infra.cli.target import Asked, Place
from trainer_infra.deploy import backend, stack_config
from trainer_infra.deploy.stack_config import Project
from trainer_infra.errors import NotAvailable
from trainer_infra.lifecycle import told
from trainer_infra.lifecycle.run import Run

JSON = Mapping[str, Any]

AT_A_TIME: Final = 4
"""States that are read at the same time: each is a process of the Pulumi command."""
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
    unknown = [run for run in runs if run.uid not in owned]
    kept = _left_alone(project, stack, unknown)
    left = [run for run in unknown if run.uid not in kept]
    whose = f"of stack {stack} of project {project.name}"
    if kept:
        typer.echo(f"runs {whose} {place.shown} that are left alone:")
    for run in unknown:
        if run.uid in kept:
            typer.echo(f"  {_shown(run)} ({run.phase}, {kept[run.uid]})")
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
    listing = place.target.list_runs(namespace)
    known.warn_of(listing)
    found = [run for run in listing.runs if (run.owner.project, run.owner.stack) == owner]
    if place.kind == target.KUBERNETES:
        return found
    here = place.target.host()
    return [run for run in found if run.host == here]


def _left_alone(project: Project, stack: str, unknown: Sequence[Run]) -> Mapping[str, str]:
    """Why runs that the stack's state does not know are not its to delete, by uid.

    Raises:
        NotAvailable: The state of a stack of this backend cannot be read.
    """
    if not unknown:
        return {}
    here = _backend(project, stack)
    others = _in_other_states(project, stack)
    kept = {}
    for run in unknown:
        made_in = run.owner.backend
        if not made_in:
            kept[run.uid] = (
                "made by an earlier release, which did not keep in which backend: "
                f"`{told.command('delete', run)}` removes it"
            )
        elif made_in != here:
            kept[run.uid] = f"made in backend {made_in}, this is {here or 'one without identity'}"
        elif run.uid in others:
            kept[run.uid] = f"in the state of stack {others[run.uid]}"
    return kept


def _backend(project: Project, stack: str) -> str:
    """The identity of the backend, as the provider has it."""
    organization = stack.rpartition("/")[0].partition("/")[0]
    url = backend.url(os.environ, project.content)
    if not organization and url.startswith("http"):
        asked = ["org", "get-default"]
        organization = stack_config.pulumi(project, asked, "the default organization").strip()
    return backend.identity(os.environ, project.content, organization, (project.folder, Path.cwd()))


def _in_other_states(project: Project, stack: str) -> Mapping[str, str]:
    """The stack by the uid of each run that another stack of the backend has."""
    listed = stack_config.pulumi(project, ["stack", "ls", "--all", "--json"], "the list of stacks")
    names = [each["name"] for each in json.loads(listed or "[]") if each["name"] != stack]
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        states = workers.map(lambda name: _state(project, name), names)
        return {
            uid: name for name, state in zip(names, states, strict=True) for uid in _owned(state)
        }


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
