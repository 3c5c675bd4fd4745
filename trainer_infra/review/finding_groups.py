"""Findings -> groups of one cause, the worst first: what a reader sees of a report. Pure.

What a TrainJob has from its runtime is one group, whatever rules say it, and is there once for all
TrainJobs that have the same from it; so is what a rule says of one value, such as an image, wherever it
stands. What the baseline knows is a number in the tally.
"""

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from trainer_infra.review import summary
from trainer_infra.review.report import DIGITS, Item, Report
from trainer_infra.rules.finding import Severity


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one cause."""

    items: tuple[Item, ...]
    """At one place: those of an object's runtime, else one alone; the worst first."""
    others: tuple[Item, ...] = ()
    """The first ones of other objects that have the same from the same runtime, or the same value, or of
    other places of the object."""

    @property
    def first(self) -> Item:
        """The worst of them."""
        return self.items[0]

    def title(self) -> str:
        """What they have in common: whose runtime it is, and how many rules it breaks."""
        whose = summary.object_on_line(self.first)
        rules = {each.rule.id for each in self.items}
        what = f"breaks {summary.count_text(len(rules), 'rule')}"
        return summary.one_line(f"{self.first.runtime}, on which {whose} runs, {what}")


def shown_items(report: Report) -> Iterator[Item]:
    """The findings that a reader sees: all that fail the check, and the others from a severity on."""
    return (each for each in report.items if not each.is_known and not _is_hidden(each, report))


def _is_hidden(item: Item, report: Report) -> bool:
    return not item.severity.is_at_least(report.shown_from) and not report.fails(item)


def finding_groups(report: Report) -> Sequence[FindingGroup]:
    """What a reader sees, the worst first, else in the order of the files."""
    return sorted(groups_of(shown_items(report)), key=lambda each: _rank(each.first))


def groups_of(found: Iterable[Item]) -> Sequence[FindingGroup]:
    """Findings by their causes, in the order of the first of each."""
    bundles: dict[Hashable, list[Item]] = {}
    for position, each in enumerate(found):
        whose = (each.kind, each.namespace, each.name, each.place, each.runtime, each.excuse)
        bundles.setdefault(whose if each.runtime else position, []).append(each)
    alike: dict[Hashable, list[tuple[Item, ...]]] = {}
    for items in bundles.values():
        bundle = tuple(sorted(items, key=_rank))
        alike.setdefault(tuple(map(_said, bundle)), []).append(bundle)
    return [FindingGroup(first, tuple(each[0] for each in rest)) for first, *rest in alike.values()]


def cause(item: Item) -> str:
    """A fingerprint of the cause of a finding: the same for all of its group."""
    return hashlib.sha256(repr(_said(item)).encode()).hexdigest()[:DIGITS]


def _rank(item: Item) -> int:
    """How far from the worst; what does not count comes last."""
    return (0 if item.counts else len(Severity)) - tuple(Severity).index(item.severity)


def _said(item: Item) -> Hashable:
    """What a finding says, without whose it is where a runtime or a value says it, else without its place."""
    said = (item.rule.id, item.what, item.got, item.fix, item.severity, item.excuse, item.is_known)
    if not item.runtime:
        whose = (item.place.file, item.kind, item.namespace, item.name)
        return (*said, item.is_unchanged) if item.got else (*said, *whose)
    _, _, seen_at = item.seen_at.partition(": ")
    return (*said, item.kind, item.runtime, item.path, seen_at)


def hidden_text(report: Report) -> Iterator[str]:
    """How many findings are not shown because they are milder."""
    hidden = sum(each.counts and _is_hidden(each, report) for each in report.items)
    if hidden:
        yield f"{summary.count_text(hidden, 'finding')} below {report.shown_from} not shown"


def others_text(first: Item, others: Sequence[Item]) -> Iterator[str]:
    """`The same of 2 more on torch-distributed: TrainJob b at b.yaml:3, TrainJob c at c.yaml:3`."""
    if not others:
        return
    own, *names = map(summary.object_on_line, (first, *others))
    whose = ["" if each == own else f"{each} at " for each in names]
    places = [summary.place_text(each.place) for each in others]
    told = ["".join(each) for each in zip(whose, places, strict=True)]
    rest = len(told) - summary.NAMED
    named = ", ".join((*told[: summary.NAMED], *([f"and {rest} others"] if rest > 0 else [])))
    on = f" on {first.runtime}" if first.runtime else ""
    head = f"The same of {len(told)} more{on}:" if on or any(whose) else "The same at"
    yield summary.one_line(f"{head} {named}")


def of_runtime_text(items: Iterable[Item]) -> Iterator[str]:
    """`medium seccomp: names no seccomp profile; set …`: what a group's findings say, a line each."""
    told = dict.fromkeys(
        "; ".join(filter(None, (f"{each.severity} {each.rule.id}: {each.what}", each.fix)))
        for each in items
    )
    yield from map(summary.one_line, told)
