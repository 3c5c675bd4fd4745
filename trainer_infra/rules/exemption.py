"""An exemption: a named person answers, until a day, for a rule that an object breaks.

Written as an annotation of the object or in the configuration; always with owner, reason and expiry,
and always told in the report. Once it has expired, the finding fails again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

import yaml
from pydantic import Field

from trainer_infra.api.base import KubeModel
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.rule import Parameters, Severity, Subject

PREFIX: Final = "exempt.trainer-infra.dev/"
"""Of the annotations; the rule's id follows."""
OWN: Final = "own-exemption"
"""The rule that says what annotations may exempt from."""
EXAMPLE: Final = '{owner: team-a, reason: "why", expires: 2027-01-31}'


class ExemptionLimits(Parameters):
    """What an object's own annotation may exempt it from: the parameters of rule own-exemption."""

    allowed: bool = True
    """Whether it may at all."""
    up_to: Literal["low", "medium", "high", "critical"] = "medium"
    """The worst severity of a finding."""
    days: Annotated[int, Field(ge=0)] = 366
    """The most days from today, also of exemptions in the configuration."""

    def refusal(self, severity: Severity, expires: date, today: date) -> str:
        """Why an exemption from a rule of that severity excuses nothing; empty where it may."""
        if not self.allowed:
            return "is not allowed by the pack: who is judged does not excuse himself"
        if not Severity(self.up_to).is_at_least(severity):
            return f"is from a rule of severity {severity}, and may be from {self.up_to} at most"
        return self.excess(expires, today)

    def excess(self, expires: date, today: date) -> str:
        """Why an exemption that lasts so long excuses nothing, wherever it is written; else empty."""
        days = (expires - today).days
        return f"ends in {days} days, and may last {self.days} at most" if days > self.days else ""


class State(StrEnum):
    """What an exemption does."""

    ACTIVE = "active"
    """It excuses what it is for."""
    EXPIRED = "expired"
    """It did until its day, and does no more."""


class Exemption(KubeModel):
    """Who answers for what, until when."""

    rule: str
    """Id of the rule."""
    owner: str
    """Who answers for it."""
    reason: str
    """Why it has to be."""
    expires: date
    """The last day on which it holds."""
    kind: str = "*"
    """Kind of the objects it is for; a pattern, as are the next two."""
    namespace: str = "*"
    """Their namespace."""
    name: str = "*"
    """Their name."""

    def state(self, today: date) -> State:
        """Whether it holds on a day."""
        return State.ACTIVE if today <= self.expires else State.EXPIRED

    def is_for(self, subject: Subject) -> bool:
        """Whether the object is one of those that it is for."""
        pairs = ((subject.kind, self.kind), (subject.namespace, self.namespace))
        return all(fnmatchcase(*each) for each in (*pairs, (subject.name, self.name)))


@dataclass(frozen=True, slots=True)
class AnnotatedExemptions:
    """What the annotations of an object say; where something is wrong with one, it excuses nothing."""

    exemptions: tuple[Exemption, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ExemptionBook:
    """What excuses the findings of one object."""

    subject: Subject
    own: tuple[Exemption, ...]
    """Those of its annotations."""
    configured: Sequence[Exemption]
    limits: ExemptionLimits
    """What its own may exempt it from, and how long any may last."""
    today: date

    def excusing(self, rule: str, severity: Severity) -> Exemption | None:
        """The exemption that a finding falls under: one that holds before one that has expired."""
        own = (
            each
            for each in self.own
            if rule != OWN and not self.limits.refusal(severity, each.expires, self.today)
        )
        configured = (
            each for each in self.configured if not self.limits.excess(each.expires, self.today)
        )
        found = (each for each in (*own, *configured) if each.rule == rule)
        mine = (each for each in found if each.is_for(self.subject))
        return min(mine, key=lambda each: each.state(self.today) == State.EXPIRED, default=None)


def exemption_limits(rules: Iterable[ConfiguredRule]) -> ExemptionLimits:
    """What annotations may exempt from where these rules are applied."""
    given = (each.parameters for each in rules if isinstance(each.parameters, ExemptionLimits))
    return next(given, ExemptionLimits())


def annotated_exemptions(subject: Subject) -> AnnotatedExemptions:
    """The exemptions in an object's annotations."""
    found: list[Exemption] = []
    problems: list[Problem] = []
    for key, value in subject.object.at("metadata", "annotations").fields():
        if not key.startswith(PREFIX) or not isinstance(value.raw, str):
            continue
        try:
            found.append(_read(key.removeprefix(PREFIX), value.raw))
        except InvalidInput as error:
            path = f"metadata.annotations[{key}]"
            problems += [Problem(path, each.what, each.got, each.fix) for each in error.problems]
    return AnnotatedExemptions(tuple(found), tuple(problems))


def _read(rule: str, text: str) -> Exemption:
    fix = f"write {EXAMPLE}"
    try:
        value = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506  makes strings, nothing else
    except yaml.YAMLError:
        what = "is not an exemption that can be read"
        raise InvalidInput([Problem("", what, text, fix)]) from None
    wanted = {"owner", "reason", "expires"}
    if not isinstance(value, dict) or {*value} != wanted or not all(value.values()):
        what = "must have owner, reason and expires, and nothing else"
        raise InvalidInput([Problem("", what, text, fix)])
    try:
        return Exemption(rule=rule, **{**value, "expires": date.fromisoformat(value["expires"])})
    except ValueError:
        what = "must expire on a day, written as 2027-01-31"
        raise InvalidInput([Problem("", what, value["expires"], fix)]) from None
