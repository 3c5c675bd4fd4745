"""`trainer-infra gc --stack` and `--older-than`: runs that no stack has.

Runs of a stack that its state does not know: the engine forgets a resource whose create was killed, so its
run is in no state (design rule 5). Only what a stack of this very backend made is deleted, and only when no
other stack of it has the run by now: stacks are renamed, and resources moved between them. Runs that ended
long ago: what `trainer-infra run` made has no owner, and a run that a stack declared has none once no state
of its backend has it; the states of a backend are known in the folder of a Pulumi program that uses it.
"""

import json
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

import typer

from trainer_infra.cli import named_runs, run_changes, target
from trainer_infra.cli.options import TargetRequest
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy import backend, stack_config
from trainer_infra.deploy.stack_config import Project
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run

AT_A_TIME: Final = 4
"""States that are read at the same time: each is a process of the Pulumi command."""
MEMBER: Final = "#"
"""Between the URN of a batch and the name of a member, in whose run it is the owner's URN."""


def collect_lost(
    asked: TargetRequest, stack: str, older_than: float | None, *, confirmed: bool
) -> int:
    """List the runs that no state owns, ask unless that is confirmed, and delete them; the exit code.

    What `asked` does not say is taken from the stack, which may be named with organization, project or
    both. With `older_than` only those that ended this many seconds ago.

    Raises:
        NotAvailable: no Pulumi program here, no CLI, no such stack, a stack of another program, or a
            place that cannot be reached.
    """
    project = stack_config.nearest_program(Path.cwd())
    if project is None:
        raise NotAvailable(
            f"{Path.cwd()} is in no Pulumi program: no Pulumi.yaml here or above; "
            "run gc in the program's folder"
        )
    stack = _stack_of(project, stack)
    name = stack.rpartition("/")[2]
    place = target.of_stack(asked, project, name)
    run_changes.collect_unowned(place, asked.namespace or "")
    # Listed before the state is read: what is created in between must not look lost.
    runs = [
        run
        for run in named_runs.runs_here(place, asked.namespace)
        if (run.owner.project, run.owner.stack) == (project.name, name)
        and (older_than is None or named_runs.ended_before(run, older_than))
    ]
    state = _state_of(project, stack)
    owned = frozenset(_owned_runs(state))
    unknown = [run for run in runs if run.uid not in owned]
    kept = _left_alone(project, unknown, stack)
    left = [run for run in unknown if run.uid not in kept]
    whose = f"of stack {stack} of project {project.name}"
    if kept:
        typer.echo(f"runs {whose} {place.shown} that are left alone:")
    for run in unknown:
        if run.uid in kept:
            typer.echo(f"  {run_changes.name_shown(run)} ({run.phase}, {kept[run.uid]})")
    if not left:
        typer.echo(f"no run {whose} is without a resource {place.shown}")
        return 0
    typer.echo(f"runs {whose} {place.shown} that its state does not know:")
    # Those whose create has begun and not ended; a killed `up` leaves them as well.
    pending = state.get("pending_operations") or ()
    lines = _lost_lines(left, frozenset(each["resource"]["urn"] for each in pending))
    return run_changes.confirm_and_remove(place, left, lines, confirmed=confirmed)


def collect_ended(asked: TargetRequest, older_than: float, *, confirmed: bool) -> int:
    """List the runs that ended so many seconds ago and have no owner, ask, and delete them; the exit code.

    What `asked` does not say is taken from the program here.

    Raises:
        NotAvailable: The place cannot be reached, or the state of a stack cannot be read.
    """
    place = target.chosen_place(asked)
    run_changes.collect_unowned(place, asked.namespace or "")
    ended = [
        run
        for run in named_runs.runs_here(place, asked.namespace)
        if named_runs.ended_before(run, older_than)
    ]
    declared = [run for run in ended if run.owner.stack]
    project = stack_config.nearest_program(Path.cwd()) if declared else None
    kept = _left_alone(project, declared)
    for line in _kept([run for run in ended if run.uid in kept], kept):
        typer.echo(line)
    left = [run for run in ended if run.uid not in kept]
    since = f"ended more than {sentences.duration_shown(older_than)} ago"
    if not left:
        typer.echo(f"no run that {since} is without a stack {place.shown}")
        return 0
    typer.echo(f"runs {place.shown} that {since} and that no stack has:")
    return run_changes.confirm_and_remove(
        place, left, _ended_lines(place, left), confirmed=confirmed
    )


def _lost_lines(runs: Sequence[Run], creating: frozenset[str]) -> Iterator[str]:
    for run in runs:
        # `up` may be running right now, in another terminal.
        declared = {run.owner.urn, run.owner.urn.rpartition(MEMBER)[0]}
        note = ", its create did not end yet" if declared & creating else ""
        yield f"  {run_changes.name_shown(run)} ({run.phase}, {sentences.time_between(run.created)} old{note})"


def _stack_of(project: Project, stack: str) -> str:
    """A stack of the project as the Pulumi command takes it: not as PROJECT/STACK, which `get` shows."""
    *before, name = stack.split("/")
    if before == [project.name]:
        return name
    url = backend.backend_url(os.environ, project.content)
    has_organizations = not url or url.startswith("http")
    is_organization = has_organizations or before == [backend.NO_ORGANIZATION]
    if before and before[-1] != project.name and not (len(before) == 1 and is_organization):
        raise NotAvailable(
            f"stack {stack} is of project {before[-1]}, and the program here is project {project.name}; "
            "run gc in the folder of its own program"
        )
    return stack


def _left_alone(
    project: Project | None, declared: Sequence[Run], but: str = ""
) -> Mapping[str, str]:
    """Why runs that stacks declared are left alone, by uid; `but` is a stack that does not have them.

    Raises:
        NotAvailable: The state of a stack of this backend cannot be read.
    """
    if not declared:
        return {}
    if project is None:
        why = "whether its state has them is known in the folder of its program: run gc there"
        return dict.fromkeys((run.uid for run in declared), why)
    here, owners = _identity_of(project, but), _owners_in(project, but)
    return {run.uid: why for run in declared if (why := _reason(run, here, owners))}


def _reason(run: Run, here: str, owners: Mapping[str, str]) -> str:
    """Why a run is left alone that its own stack's state does not know; empty when it is not.

    `here` is the backend whose states are known, `owners` the stack of each run that one of them has.
    """
    made_in = run.owner.backend
    if not made_in:
        return (
            "made by an earlier release, which did not keep in which backend: "
            f"`{sentences.command('delete', run)}` removes it"
        )
    if made_in != here:
        return f"made in backend {made_in}, this is {here or 'one without identity'}"
    return f"in the state of stack {owners[run.uid]}" if run.uid in owners else ""


def _ended_lines(place: RunPlace, runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        facts = f"{run.phase}, {sentences.time_between(run.finished or run.created)} ago"
        yield f"  {run_changes.name_shown(run)} ({facts}{run_changes.size_shown(place, run)})"


def _kept(runs: Sequence[Run], why: Mapping[str, str]) -> Iterator[str]:
    """A line for each stack and reason: there may be hundreds of runs."""
    alike: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        alike[named_runs.stack_name(run.owner), why[run.uid]].append(run)
    for (stack, reason), found in alike.items():
        what = run_changes.name_shown(found[0]) if len(found) == 1 else f"{len(found)} runs"
        yield f"left alone: {what} of stack {stack}, {reason}"


def _state_of(project: Project, stack: str) -> JSONObject:
    """The stack's deployment, as `pulumi stack export` has it."""
    asked = ["stack", "export", "--stack", stack]
    exported = stack_config.run_pulumi(project, asked, f"the state of stack {stack}")
    found: JSONObject = json.loads(exported).get("deployment") or {}
    return found


def _owners_in(project: Project, but: str = "") -> Mapping[str, str]:
    """The stack by the uid of each run that a stack of the backend has, without one stack."""
    asked = ["stack", "ls", "--all", "--json"]
    listed = stack_config.run_pulumi(project, asked, "the list of stacks")
    names = [each["name"] for each in json.loads(listed or "[]") if each["name"] != but]
    with ThreadPoolExecutor(AT_A_TIME) as workers:
        states = workers.map(partial(_state_of, project), names)
        pairs = zip(names, states, strict=True)
        return {uid: name for name, state in pairs for uid in _owned_runs(state)}


def _owned_runs(state: JSONObject) -> Iterator[str]:
    """The uids of the runs that resources have in their outputs, of a batch those of its members."""
    for resource in state.get("resources") or ():
        outputs = resource.get("outputs") or {}
        members = outputs.get("members")
        found = (outputs, *(members.values() if isinstance(members, Mapping) else ()))
        uids = (each.get("uid") for each in found if isinstance(each, Mapping))
        yield from (uid for uid in uids if isinstance(uid, str) and uid)


def _identity_of(project: Project, stack: str = "") -> str:
    """The identity of the backend as the provider has it, of the stack's organization or the default one."""
    organization = stack.rpartition("/")[0].partition("/")[0]
    url = backend.backend_url(os.environ, project.content)
    if not organization and url.startswith("http"):
        asked = ["org", "get-default"]
        organization = stack_config.run_pulumi(project, asked, "the default organization").strip()
    return backend.backend_identity(
        os.environ, project.content, organization, (project.folder, Path.cwd())
    )
