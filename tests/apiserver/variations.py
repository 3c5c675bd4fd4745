"""Objects that differ from a valid one in one place each: what is refused is refused for that place."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra.rules import fixture

JSON = Mapping[str, Any]
Change = tuple[str, Any]
"""A path, its parts divided by spaces, and what stands there; None where nothing does."""

_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Variation:
    """A valid object with one change."""

    base: JSON
    """The valid object."""
    path: str
    """Where it is changed; empty for nowhere."""
    value: Any
    """What stands there."""

    @property
    def name(self) -> str:
        """What a test is called."""
        version = str(self.base["apiVersion"]).rpartition("/")[2]
        shown = json.dumps(self.value)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        return f"{version} {self.base['kind']} {self.path} = {shown}"

    def whole(self) -> JSON:
        """The object."""
        path = tuple(int(each) if each.isdigit() else each for each in self.path.split())
        whole: JSON = fixture.with_value_at(self.base, path, self.value) if path else self.base
        return whole


def of(base: JSON, changes: Sequence[Change]) -> Iterator[Variation]:
    """A variation for each change."""
    return (Variation(base, *each) for each in changes)
