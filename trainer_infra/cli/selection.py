"""Which runs a command is about, by its options, in the order of their age. Pure."""

from collections.abc import Iterable

from trainer_infra.cli.options import RunSelection
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Owner, Run


def select_runs(runs: Iterable[Run], selection: RunSelection) -> tuple[Run, ...]:
    """The runs that fit all that is asked, the newest last, as events are shown."""
    return tuple(
        sorted((run for run in runs if _fits(run, selection)), key=lambda run: run.created)
    )


def stack_name(owner: Owner) -> str:
    """A run's stack as Pulumi writes it: `project/stack`; empty for who has none."""
    return f"{owner.project}/{owner.stack}" if owner.stack else ""


def ended_before(run: Run, seconds: float) -> bool:
    """Whether a run has ended, and that longer ago."""
    return (
        sentences.is_finished(run)
        and sentences.seconds_between(run.finished or run.created) >= seconds
    )


def _fits(run: Run, asked: RunSelection) -> bool:
    *before, stack = (asked.stack or "").split("/")
    projects = {each for each in (asked.project, *before[-1:]) if each}
    age = sentences.seconds_between(run.created)
    return (
        all(run.owner.project == each for each in projects)
        and (not stack or run.owner.stack == stack)
        and (not asked.phase or run.phase in asked.phase)
        and (asked.older_than is None or age >= asked.older_than)
        and (asked.newer_than is None or age <= asked.newer_than)
    )
