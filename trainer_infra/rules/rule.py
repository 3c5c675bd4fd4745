"""A policy rule: one thing that is to be so, and how to see that it is not.

The files of `shape`, `admission`, `supply_chain`, `pod_security`, `capacity`, `scheduling`, `data`, `recovery` and
`tuning` make them; `trainer_infra.rules.RULES` has them all in order. A rule is pure, never raises on any object, and
never shows a secret. What a rule speaks of is imported from here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final, Generic, TypeVar

from trainer_infra.api.base import KubeModel
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value
from trainer_infra.rules.world import World

__all__ = [
    "EVERY_KIND",
    "EVERY_POD",
    "AnyRule",
    "Context",
    "Finding",
    "Parameters",
    "Rule",
    "Severity",
    "Subject",
    "Value",
    "World",
    "whole",
]

Place = TypeVar("Place")
P = TypeVar("P", bound="Parameters")
EVERY_KIND: Final = "*"
"""Among the kinds of a rule: it also judges kinds that it does not name, and parts of objects. What those say is
judged; of what they leave out, something else may say it."""
EVERY_POD: Final = "* with pods"
"""The same of those that have something with the fields of a pod."""


class Parameters(KubeModel):
    """What a user may set of a rule; one without fields for most."""


@dataclass(frozen=True, slots=True)
class Context(Generic[P]):
    """What a rule knows beside the place that it judges."""

    subject: Subject
    """The object that is judged."""
    world: World
    """All objects and pools that are known."""
    parameters: P
    """The rule's own, as the user set them."""
    severities: Callable[[], Mapping[str, Severity]] = dict
    """How bad a finding is of each rule that is applied, by id; made when it is asked for."""
    today: date | None = None
    """The day that it is judged on; None where no day matters."""


def whole(subject: Subject) -> Iterable[Value]:
    """The object itself: the one place of rules that judge it as a whole."""
    return (subject.object,)


@dataclass(frozen=True, slots=True)
class Rule(Generic[Place, P]):
    """One thing that is to be so."""

    id: str
    """Names it everywhere: output, configuration, exemptions, docs/rules.md and its fixtures."""
    title: str
    """What is to be so, a sentence without a full stop."""
    severity: Severity
    """How bad it is otherwise, unless the user says something else."""
    kinds: frozenset[str]
    """Kinds of the objects that it judges; `EVERY_KIND` and `EVERY_POD` stand for others."""
    tags: tuple[str, ...]
    """Its group first (the folder that its file is in), then what else to select it by."""
    why: str
    """What happens otherwise, one or two sentences."""
    fix: str
    """What to do about it, a sentence."""
    check: Callable[[Place, Context[P]], Iterable[Finding]]
    """What is wrong with one place."""
    places: Callable[[Subject], Iterable[Place]] = whole  # type: ignore[assignment]  # then of Values
    """The places of an object that are judged one by one, such as those of `pods`; usually all of it."""
    parameters: type[P] = field(default=Parameters)  # type: ignore[assignment]  # P where none are named
    """Their model; its defaults are what holds without a configuration."""
    frameworks: tuple[str, ...] = ()
    """Controls of published standards that it is part of, `pod-security-standards/restricted`."""
    looks_around: bool = False
    """Whether other objects can change what it says: CrossGuard then asks it about a whole stack."""
    remediates: bool = False
    """Whether its patches may be applied unasked, by CrossGuard and `--fix`."""

    def kinds_text(self) -> str:
        """The kinds, for people."""
        general = {EVERY_KIND: "all kinds", EVERY_POD: "all kinds with pods"}
        told = (words for kind, words in general.items() if kind in self.kinds)
        return next(told, ", ".join(sorted(self.kinds)))


AnyRule = Rule[Any, Any]
