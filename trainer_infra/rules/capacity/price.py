"""price: a TrainJob costs no more money than it may."""

from collections.abc import Iterator
from typing import Final

from pydantic import Field

from trainer_infra import names
from trainer_infra.rules import rule
from trainer_infra.rules.capacity import cost
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value


class Price(Parameters):
    """What is paid, and how much a TrainJob may cost."""

    prices: dict[str, float] = Field(default_factory=dict)
    """Price of one hour by accelerator (`nvidia-h100-80gb`, as pools or node labels name it) or by
    resource (`nvidia.com/gpu`, `cpu` per core, `memory` per GiB)."""
    budget: float | None = None
    """The most that one TrainJob may cost; None for any amount."""
    currency: str = "USD"
    """What prices and budget are in; it is only shown."""


def _check(place: Value, context: Context[Price]) -> Iterator[Finding]:
    parameters = context.parameters
    budget = cost.budget_limit(parameters.budget)
    if budget is None or not parameters.prices:
        return
    found, why = cost.price(context.subject, context.world, cost.price_table(parameters.prices))
    deadline = place.at("spec", "activeDeadlineSeconds")
    if why == cost.ENDLESS:
        yield cost.no_bound(deadline, "the price has")
    elif found is not None and found > budget:
        fix = "shorten it, or use fewer or cheaper machines"
        what = (
            f"makes a price of up to {found:.2f} {parameters.currency}, more than the "
            f"budget of {budget:.2f}"
        )
        yield deadline.finding(what, deadline.number(), fix)


RULE: Final = Rule(
    id="price",
    title="A TrainJob costs no more than it may",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("capacity", "gpu", "cost"),
    why="A slip in the number of nodes or in the deadline is found on the bill.",
    fix="Shorten `spec.activeDeadlineSeconds`, or use fewer or cheaper machines.",
    places=rule.whole,
    check=_check,
    looks_around=True,
    parameters=Price,
)
