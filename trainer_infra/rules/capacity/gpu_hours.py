"""gpu-hours: a TrainJob takes no more GPU-hours than it may."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import rule
from trainer_infra.rules.capacity import cost
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value


class GpuHours(Parameters):
    """How much a TrainJob may take."""

    budget: float | None = None
    """The most GPU-hours of one TrainJob; None for any number."""


def _check(place: Value, context: Context[GpuHours]) -> Iterator[Finding]:
    budget = cost.budget_limit(context.parameters.budget)
    if budget is None:
        return
    hours = cost.gpu_hours(context.subject)
    deadline = place.at("spec", "activeDeadlineSeconds")
    if hours is None:
        yield cost.no_bound(deadline, "GPU-hours have")
    elif hours > budget:
        fix = "shorten it, or use fewer nodes or GPUs"
        what = f"makes up to {hours:.1f} GPU-hours, more than the budget of {budget:.1f}"
        yield deadline.finding(what, deadline.number(), fix)


RULE: Final = Rule(
    id="gpu-hours",
    title="A TrainJob takes no more GPU-hours than it may",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("capacity", "gpu", "cost"),
    why="A job that hangs, or was made too large by a slip, uses up what others were promised.",
    fix="Shorten `spec.activeDeadlineSeconds`, or use fewer nodes or GPUs.",
    places=rule.whole,
    check=_check,
    parameters=GpuHours,
)
