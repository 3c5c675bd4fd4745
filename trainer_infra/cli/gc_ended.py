"""`trainer-infra gc --older-than`: runs that ended long ago and that no stack has.

What `trainer-infra run` made has no owner. A run that a stack declared has none once no state of
its backend has it; the states of a backend are known in the folder of a Pulumi program that uses
it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import typer

from trainer_infra.cli import gc_stack, named_runs, removal, selection, stack_states, target
from trainer_infra.cli.options import TargetRequest
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy import stack_config
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run


def collect(asked: TargetRequest, older_than: float, *, confirmed: bool) -> int:
    """List the runs that ended longer ago and that have no owner, ask, and delete them; the exit code.

    Args:
        asked: where the runs are; what is not given is taken from the program here.
        older_than: seconds since a run ended, at least.
        confirmed: whether to delete without asking.

    Raises:
        NotAvailable: The place cannot be reached, or the state of a stack cannot be read.
    """
    place = target.chosen_place(asked)
    removal.collect_unowned(place, asked.namespace or "")
    ended = [
        run
        for run in named_runs.runs_here(place, asked.namespace)
        if selection.ended_before(run, older_than)
    ]
    kept = _left_alone([run for run in ended if run.owner.stack])
    for line in _kept([run for run in ended if run.uid in kept], kept):
        typer.echo(line)
    left = [run for run in ended if run.uid not in kept]
    since = f"ended more than {sentences.duration_shown(older_than)} ago"
    if not left:
        typer.echo(f"no run that {since} is without a stack {place.shown}")
        return 0
    typer.echo(f"runs {place.shown} that {since} and that no stack has:")
    return removal.confirm_and_remove(place, left, _lines(place, left), confirmed=confirmed)


def _lines(place: RunPlace, runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        facts = f"{run.phase}, {sentences.time_between(run.finished or run.created)} ago"
        yield f"  {removal.name_shown(run)} ({facts}{removal.size_shown(place, run)})"


def _left_alone(declared: Sequence[Run]) -> Mapping[str, str]:
    """Why runs that stacks declared are left alone, by uid."""
    if not declared:
        return {}
    project = stack_config.nearest_program(Path.cwd())
    if project is None:
        why = "whether its state has them is known in the folder of its program: run gc there"
        return dict.fromkeys((run.uid for run in declared), why)
    here, owners = stack_states.identity_of(project), stack_states.owners_in(project)
    return {run.uid: why for run in declared if (why := gc_stack.reason_of(run, here, owners))}


def _kept(runs: Sequence[Run], why: Mapping[str, str]) -> Iterator[str]:
    """A line for each stack and reason: there may be hundreds of runs."""
    alike: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        alike[selection.stack_name(run.owner), why[run.uid]].append(run)
    for (stack, reason), found in alike.items():
        what = removal.name_shown(found[0]) if len(found) == 1 else f"{len(found)} runs"
        yield f"left alone: {what} of stack {stack}, {reason}"
