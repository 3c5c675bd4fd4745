"""Judging an object by rules: all findings, and what could not be seen.

A value that is not known hides nothing but its own place.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from typing import Any

from trainer_infra.api.finding import Path
from trainer_infra.errors import MEND_FIRST, MOST_PROBLEMS
from trainer_infra.rules import pods
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import EVERY_KIND, EVERY_POD, AnyRule, Context, Parameters
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import ABSENT, UnseenValue
from trainer_infra.rules.world import World


@dataclass(frozen=True, slots=True)
class ConfiguredRule:
    """A rule as it is to be applied."""

    rule: AnyRule
    severity: Severity
    """How bad a finding of it is here."""
    parameters: Parameters

    @classmethod
    def default(cls, rule: AnyRule) -> "ConfiguredRule":
        """The rule as it comes."""
        return cls(rule, rule.severity, rule.parameters())


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    """What one rule says of one object."""

    chosen: ConfiguredRule
    findings: tuple[Finding, ...]
    """What is wrong, in the order of the places; of more than `MOST_PROBLEMS` the first ones, and one that
    says that there are more."""
    unseen: tuple[Path, ...]
    """What it could not see because it is not known yet."""


def judge(
    subject: Subject, world: World, rules: Iterable[ConfiguredRule], today: date | None = None
) -> Iterator[RuleVerdict]:
    """What each rule for the object's kind says of it, in order, where that is anything.

    `today` is None where no day matters.
    """
    applied = tuple(rules)
    kind = subject.kind
    # What is not at hand is noted by those rules that look for it.
    left_out = (each for each in subject.left_out if each != REFERENCE)
    hidden = (*subject.unseen, *left_out)

    def severities() -> Mapping[str, Severity]:
        return {each.rule.id: each.severity for each in applied}

    # Most rules have no parameters.
    usual: Context[Any] = Context(subject, world, Parameters(), severities, today)
    general: frozenset[str] | None = None
    is_whole = not subject.is_part
    for chosen in applied:
        rule = chosen.rule
        knows = is_whole and kind in rule.kinds
        if not knows:
            # Most objects are of a known kind: of others only is asked what they have.
            general = _general(subject) if general is None else general
            if general.isdisjoint(rule.kinds):
                continue
        places, unseen = subject.places(rule.places)
        if places or unseen or hidden:
            context = usual
            if rule.parameters is not Parameters:
                context = Context(subject, world, chosen.parameters, severities, today)
            judged = _judged(chosen, context, places, (*hidden, *unseen))
            judged = judged if knows or judged is None else _standing(judged, subject)
            if judged is not None:
                yield judged
    # Thousands of objects may be judged, each of which is read once more at most.
    subject.forget()


def _judged(
    chosen: ConfiguredRule,
    context: Context[Any],
    places: Iterable[Any],
    unseen: Iterable[Path],
) -> RuleVerdict | None:
    rule, subject = chosen.rule, context.subject
    missed = subject.noted
    missed.clear()
    for each in unseen:
        missed[each] = None
    found: list[Finding] = []
    for place in places:
        try:
            found += islice(rule.check(place, context), MOST_PROBLEMS + 1)
        except UnseenValue as error:
            missed[error.path] = None
        if len(found) > MOST_PROBLEMS:
            what = f"has more of this than these {MOST_PROBLEMS}"
            found[MOST_PROBLEMS:] = [subject.object.finding(what, fix=MEND_FIRST)]
            break
    if not found and not missed:
        return None
    own = tuple(_own(found, subject, rule))
    return RuleVerdict(chosen, own, tuple(missed)) if own or missed else None


def _general(subject: Subject) -> frozenset[str]:
    """What stands for it among the kinds of rules that do not name its kind."""
    if not subject.kind and not subject.is_part:
        return frozenset()
    return frozenset((EVERY_KIND, EVERY_POD) if pods.pods_of(subject) else (EVERY_KIND,))


def _standing(verdict: RuleVerdict, subject: Subject) -> RuleVerdict | None:
    """The verdict on an object of which not all is known: only what stands there was to be seen."""
    unseen = tuple(each for each in verdict.unseen if subject.object.at(*each).raw is not ABSENT)
    return replace(verdict, unseen=unseen) if verdict.findings or unseen else None


def _own(found: Iterable[Finding], subject: Subject, rule: AnyRule) -> Iterator[Finding]:
    """Each once, and not what the same rule says of the runtime itself."""
    kind = None if subject.runtime is None else subject.runtime["kind"].raw
    told = set()
    for each in found:
        if each.inherited and subject.runtime_is_judged and kind in rule.kinds:
            continue
        # What a runtime lacks in every pod is one finding of the TrainJob that refers to it.
        seen_at = "" if each.inherited else each.seen_at
        same = (each.path, each.what, repr(each.got), each.fix, seen_at)
        if same not in told:
            told.add(same)
            yield each
