"""nodes-limit: a job trains on no more nodes than are allowed."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import rule
from trainer_infra.rules.placement import nodes
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value


class NodesLimit(Parameters):
    """How many nodes a job may have."""

    nodes: int | None = None
    """The most pods that train; None for any number."""


def _check(_place: Value, context: Context[NodesLimit]) -> Iterator[Finding]:
    most = context.parameters.nodes
    if most is None:
        return
    total = nodes.total(context.subject)
    if total > most:
        where = nodes.total_value(context.subject)
        what = f"makes more nodes than the {most} that are allowed"
        yield where.finding(what, total, f"write {most} or less")


RULE: Final = Rule(
    id="nodes-limit",
    title="A job trains on no more nodes than are allowed",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("capacity", "nodes", "cost"),
    why="One job takes machines that others were promised.",
    fix="Use fewer nodes, or ask the person who set the limit.",
    places=rule.whole,
    check=_check,
    parameters=NodesLimit,
)
