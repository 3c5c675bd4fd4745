"""What TrainJobs cost at most, beside what they cost at another revision: lines of a report.

Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trainer_infra.review import environments
from trainer_infra.review.documents import Document
from trainer_infra.review.environments import DocumentEnvironment
from trainer_infra.rules import pack, tree, world
from trainer_infra.rules.capacity import cost
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.subject import Subject


@dataclass(frozen=True, slots=True)
class Total:
    """What objects cost at most, all together."""

    gpu_hours: Decimal = Decimal(0)
    """Of those whose GPU-hours are known."""
    price: Decimal = Decimal(0)
    """Of those whose price is known."""
    unknown: int = 0
    """How many have an end or a price that is not known."""


def cost_notes(
    now: Sequence[Document], then: Sequence[Document], settled: ResolvedConfiguration
) -> dict[str, str]:
    """Lines by title; none where no pod asks for a GPU or has a price.

    Pools are those of the configuration, prices those of its rule `price`.
    """
    of_rules = (each.parameters for each in pack.pack_rules(settled.pack))
    given = next((each for each in of_rules if isinstance(each, cost.Price)), cost.Price())
    prices = cost.price_table(given.prices)
    here, there = (_subjects(each, settled) for each in (now, then))
    known = {each.name: subjects for each, subjects in here.items()}
    shared = {each: _shared(subjects, known.get(each.name, ())) for each, subjects in there.items()}
    after, before = (_total(each, settled, prices) for each in (here, shared))
    found = {}
    if after.gpu_hours or before.gpu_hours:
        found["GPU-hours at most"] = _change(before.gpu_hours, after.gpu_hours, "")
    if after.price or before.price:
        found["Price at most"] = _change(before.price, after.price, f" {given.currency}")
    if after.unknown and prices:
        found["TrainJobs and JobSets without a price that is known"] = str(after.unknown)
    return found


def _subjects(
    documents: Sequence[Document], settled: ResolvedConfiguration
) -> dict[DocumentEnvironment, tuple[Subject, ...]]:
    return {
        each: tree.subjects_of([documents[position].value for position in each.positions])
        for each in environments.environments_of(documents, settled.folders, settled.root)
    }


def _shared(then: Iterable[Subject], now: Iterable[Subject]) -> tuple[Subject, ...]:
    """Those of another revision; for what is as it was the same ones, which have been rendered."""
    known = {(each.kind, each.namespace, each.name): each for each in now}
    pairs = ((each, known.get((each.kind, each.namespace, each.name))) for each in then)
    return tuple(
        after if after is not None and _said(after) == _said(before) else before
        for before, after in pairs
    )


def _said(subject: Subject) -> tuple[Any, Any]:
    """The object, and the runtime that it refers to."""
    return subject.object.raw, subject.runtime.raw if subject.runtime else None


def _total(
    inside: Mapping[DocumentEnvironment, Sequence[Subject]],
    settled: ResolvedConfiguration,
    prices: cost.Prices,
) -> Total:
    """Of all environments: what is of several is deployed several times."""
    found: list[cost.Cost] = []
    for each, subjects in inside.items():
        pools = settled.environments.get(each.configured, settled).pools
        around = world.world_of(subjects, pools)
        found += (cost.cost_of(one, around, prices) for one in subjects if one.kind in cost.KINDS)
    return Total(
        sum((each.gpu_hours or Decimal(0) for each in found), Decimal(0)),
        sum((each.price or Decimal(0) for each in found), Decimal(0)),
        sum(each.price is None for each in found),
    )


def _change(before: Decimal, after: Decimal, unit: str) -> str:
    if before == after:
        return f"{after:,.2f}{unit}, as before"
    return f"{after:,.2f}{unit}, was {before:,.2f} ({after - before:+,.2f})"
