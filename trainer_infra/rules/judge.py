"""Judging an object by rules: all findings, and what could not be seen.

Called by `review` and `deploy`. A value that is not known hides nothing but its own place.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from trainer_infra.api.finding import Path
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.rule import AnyRule, Context, Parameters
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Unseen
from trainer_infra.rules.world import World


@dataclass(frozen=True, slots=True)
class Chosen:
    """A rule as it is to be applied."""

    rule: AnyRule
    """The rule."""
    severity: Severity
    """How bad a finding of it is here."""
    parameters: Parameters
    """What is set of it."""

    @classmethod
    def default(cls, rule: AnyRule) -> "Chosen":
        """The rule as it comes."""
        return cls(rule, rule.severity, rule.parameters())


@dataclass(frozen=True, slots=True)
class Judged:
    """What one rule says of one object."""

    chosen: Chosen
    """The rule."""
    findings: tuple[Finding, ...]
    """What is wrong, in the order of the places."""
    unseen: tuple[Path, ...]
    """What it could not see because it is not known yet."""


def judge(subject: Subject, world: World, rules: Iterable[Chosen]) -> Iterator[Judged]:
    """What each rule for the object's kind says of it, where that is anything."""
    for chosen in rules:
        if subject.kind in chosen.rule.kinds:
            judged = _judged(subject, world, chosen)
            if judged.findings or judged.unseen:
                yield judged


def _judged(subject: Subject, world: World, chosen: Chosen) -> Judged:
    rule = chosen.rule
    places, unseen = subject.places(rule.places)
    missed = dict.fromkeys((*subject.unseen, *unseen))
    for root in subject.roots():
        root.unseen.clear()
    context: Context[Any] = Context(subject, world, chosen.parameters)
    found: list[Finding] = []
    for place in places:
        try:
            found += rule.check(place, context)
        except Unseen as error:
            missed[error.path] = None
    missed |= dict.fromkeys(path for root in subject.roots() for path in root.unseen)
    return Judged(chosen, tuple(_own(found, subject, rule)), tuple(missed))


def _own(found: Iterable[Finding], subject: Subject, rule: AnyRule) -> Iterator[Finding]:
    """Each once, and not what the same rule says of the runtime itself."""
    runtime = subject.runtime
    kind = runtime["kind"].raw if runtime is not None else ""
    said_there = subject.runtime_is_judged and kind in rule.kinds
    told: list[Finding] = []
    for each in found:
        # What a runtime lacks in every pod is one finding of the TrainJob that refers to it.
        same = replace(each, seen_at="") if each.inherited else each
        if same not in told and not (each.inherited and said_there):
            told.append(same)
            yield each
