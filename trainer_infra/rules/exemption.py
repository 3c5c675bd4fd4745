"""An exemption: a named person answers, until a day, for a rule that an object breaks.

Written as an annotation of the object or in the configuration; always with owner, reason and expiry,
and always told in the report. Once it has expired, the finding fails again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

import yaml

from trainer_infra.api.base import KubeModel
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.rules.subject import Subject

PREFIX: Final = "exempt.trainer-infra.dev/"
"""Of the annotations; the rule's id follows."""
EXAMPLE: Final = '{owner: team-a, reason: "why", expires: 2027-01-31}'


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
class AnnotatedExemption:
    """What the annotations of an object say."""

    exemptions: tuple[Exemption, ...]
    """Those that are well written."""
    problems: tuple[Problem, ...]
    """What is wrong with the others, which excuse nothing."""


def excusing_exemption(
    exemptions: Iterable[Exemption], rule: str, subject: Subject, today: date
) -> Exemption | None:
    """The exemption that a finding falls under: one that holds before one that has expired."""
    found = [each for each in exemptions if each.rule == rule and each.is_for(subject)]
    return min(found, key=lambda each: each.state(today) == State.EXPIRED, default=None)


def annotated_exemptions(subject: Subject) -> AnnotatedExemption:
    """The exemptions in an object's annotations."""
    found: list[Exemption] = []
    problems: list[Problem] = []
    for key, text in _annotations(subject):
        try:
            found.append(_read(key.removeprefix(PREFIX), text))
        except InvalidInput as error:
            problems += [
                Problem(f"metadata.annotations[{key}]", each.what, each.got, each.fix)
                for each in error.problems
            ]
    return AnnotatedExemption(tuple(found), tuple(problems))


def _annotations(subject: Subject) -> Iterator[tuple[str, str]]:
    for key, value in subject.object.at("metadata", "annotations").fields():
        if key.startswith(PREFIX) and isinstance(value.raw, str):
            yield key, value.raw


def _read(rule: str, text: str) -> Exemption:
    fix = f"write {EXAMPLE}"
    try:
        value = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506  makes strings, nothing else
    except yaml.YAMLError:
        raise InvalidInput(
            [Problem("", "is not an exemption that can be read", text, fix)]
        ) from None
    wanted = {"owner", "reason", "expires"}
    if not isinstance(value, dict) or {*value} != wanted or not all(value.values()):
        what = "must have owner, reason and expires, and nothing else"
        raise InvalidInput([Problem("", what, text, fix)])
    try:
        return Exemption(rule=rule, **{**value, "expires": date.fromisoformat(value["expires"])})
    except ValueError:
        what = "must expire on a day, written as 2027-01-31"
        raise InvalidInput([Problem("", what, value["expires"], fix)]) from None
