"""What a rule says is wrong with an object.

Made by `Value.finding`; `judge` says which rule it is of, `review` and `deploy` tell people.
"""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import Final

from trainer_infra.api import finding as api
from trainer_infra.api.finding import Path


class Severity(StrEnum):
    """How bad it is when a rule is broken; the words are CrossGuard's."""

    LOW = "low"
    """Better done otherwise."""
    MEDIUM = "medium"
    """Will cost time or money some day."""
    HIGH = "high"
    """Fails, or harms others, when it comes to it."""
    CRITICAL = "critical"
    """Gives away the cluster or a secret."""

    def is_at_least(self, least: "Severity") -> bool:
        """Whether it is as bad as another, or worse."""
        return _RANKS[self] >= _RANKS[least]


_RANKS: Final = {each: rank for rank, each in enumerate(Severity)}


class Removal(Enum):
    """Says that nothing is to stand at a path."""

    REMOVED = auto()


REMOVED: Final = Removal.REMOVED


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a patch; parents that are missing are made."""

    path: Path
    """In the object as it was written."""
    value: object
    """What stands there afterwards, JSON or REMOVED."""


@dataclass(frozen=True, slots=True)
class Finding(api.FieldFinding):
    """A problem whose place is a path in the object as it was written."""

    patch: tuple[Change, ...] = ()
    """Changes of that object which make it right and harm nothing; empty when a human must decide."""
    seen_at: str = ""
    """The place in what it renders to, `JobSet tj: spec.…`; empty when it was seen where it is."""
    inherited: bool = False
    """Whether the runtime of a TrainJob says it, and the path is that of the reference to it."""


def where_to_fix(
    finding: Finding, where: str = "in the runtime or in spec.runtimePatches"
) -> Finding:
    """The finding; one about the runtime says where it can be made right."""
    return replace(finding, fix=f"{finding.fix}, {where}") if finding.inherited else finding
