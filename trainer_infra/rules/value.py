"""A place in an object: what stands there, and its path. Reading it raises nothing but UnseenValue.

Every rule reads objects through it: objects of kinds without a schema may have anything anywhere,
and during a preview some values are not known yet. A list or mapping that is not known is noted and
read as empty, so that the rest is judged. A scalar that is not known raises UnseenValue, here and in
whatever reads one; `judge` catches it, and the judgement of that place alone ends.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from trainer_infra.api import quantity
from trainer_infra.api.finding import Path, is_within, path_text
from trainer_infra.api.shape.reading import (
    ABSENT,
    UNKNOWN,
    Mark,
    UnseenValue,
    is_list,
    is_mapping,
)
from trainer_infra.errors import InvalidInput
from trainer_infra.rules.finding import Change, Finding

__all__ = [
    "ABSENT",
    "UNKNOWN",
    "Mark",
    "Origin",
    "Root",
    "UnseenValue",
    "Value",
    "is_list",
    "is_mapping",
    "present",
]


_path_text: Final = lru_cache(maxsize=1 << 12)(path_text)
"""TrainJobs on one runtime have the same paths."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something that was read stands in what the user wrote."""

    path: Path
    """In the subject's object."""
    inherited: bool = False
    """Whether its runtime says it: the path is then that of the reference to it."""


@dataclass(frozen=True, slots=True)
class Root:
    """The object that values are read from."""

    name: str = ""
    """Kind and name of a rendered object; empty for the one that was written."""
    written: Callable[[Path], Origin] = Origin
    """Where the user wrote what stands at a path of this object."""
    unseen: dict[Path, None] = field(default_factory=dict)
    """Written paths of lists and mappings that were not known, since it was last emptied; the
    objects that a subject has share it."""
    gaps: tuple[Path, ...] = ()
    """Places below which what is absent is not known: something that is not may yet fill them."""

    def may_have(self, path: Path) -> bool:
        """Whether something that is not known may yet stand at a path where nothing does."""
        return is_within(path, self.gaps)


class Value:
    """What stands at a place of an object.

    Attributes:
        raw: The JSON value as it is, or a Mark; the caller takes care of unknown ones in it.
        root: The object that it is in.
        path: From the root of its object.
    """

    __slots__ = ("_below", "_written", "path", "raw", "root")

    def __init__(self, raw: Any, root: Root, path: Path = ()) -> None:
        self.raw = raw
        self.root = root
        self.path = path
        self._below: dict[str | int | Path, Value] | None = None
        self._written: Origin | None = None

    @property
    def written(self) -> Origin:
        """Where the user wrote it."""
        if self._written is None:
            self._written = self.root.written(self.path)
        return self._written

    def __getitem__(self, key: str | int) -> "Value":
        """What stands below a key or a list position; absent where there is nothing."""
        below = self._below
        if below is None:
            below = self._below = {}
        found = below.get(key)
        if found is None:
            here, root, path = self.raw, self.root, (*self.path, key)
            # Asked first for what most values are: rules read hundreds of an object.
            raw = here.get(key, ABSENT) if type(here) is dict else _raw_below(here, key)
            if raw is None or raw is ABSENT:
                raw = UNKNOWN if root.gaps and root.may_have(path) else ABSENT
            found = below[key] = Value(raw, root, path)
        return found

    def forget(self) -> None:
        """Lets go of what was read below it, which is kept to be read again: many rules ask."""
        self._below = None

    def at(self, *keys: str | int) -> "Value":
        """What stands below several keys."""
        below = self._below
        if below is None:
            below = self._below = {}
        found = below.get(keys)
        if found is None:
            found = below[keys] = self._found(keys)
        return found

    def _found(self, keys: Path) -> "Value":
        if self.root.gaps or len(keys) == 1 or not keys:
            found = self
            for key in keys:
                found = found[key]
            return found
        raw = self.raw
        for key in keys:
            raw = raw.get(key, ABSENT) if type(raw) is dict else _raw_below(raw, key)
        return Value(ABSENT if raw is None else raw, self.root, (*self.path, *keys))

    def is_there(self) -> bool:
        """Whether there is a value, also an empty one."""
        return self._known() is not ABSENT

    def text(self) -> str:
        """A string; empty where there is none."""
        raw = self._known()
        return raw if isinstance(raw, str) else ""

    def flag(self) -> bool | None:
        """A boolean; None where there is none."""
        raw = self._known()
        return raw if isinstance(raw, bool) else None

    def number(self) -> int | None:
        """A whole number; None where there is none. Pulumi hands numbers over as floats."""
        raw = self._known()
        if isinstance(raw, float) and raw.is_integer():
            return int(raw)
        return raw if isinstance(raw, int) and not isinstance(raw, bool) else None

    def quantity(self) -> Decimal | None:
        """A Kubernetes quantity in units; None where there is none that can be read."""
        raw = self._known()
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            return None
        try:
            return quantity.parse_quantity(raw)
        except (InvalidInput, ValueError):
            return None

    def items(self) -> Iterator["Value"]:
        """The items of a list; none of one that is not known, which is noted."""
        if self.is_noted():
            return
        if is_list(self.raw):
            for index in range(len(self.raw)):
                yield self[index]

    def fields(self) -> Iterator[tuple[str, "Value"]]:
        """The fields of a mapping; none of one that is not known, which is noted."""
        if self.is_noted():
            return
        if is_mapping(self.raw):
            for key in self.raw:
                if isinstance(key, str):
                    yield key, self[key]

    def texts(self) -> tuple[str, ...]:
        """The strings of a list; what is not known among them is noted and left out."""
        known = (each for each in self.items() if not each.is_noted())
        return tuple(each.raw for each in known if isinstance(each.raw, str))

    def is_noted(self) -> bool:
        """Whether it is not known, which is noted then: for rules that go on without it."""
        if self.raw is not UNKNOWN:
            return False
        self.root.unseen[self.written.path] = None
        return True

    def is_inherited(self) -> bool:
        """Whether only the runtime of a TrainJob says it."""
        return self.written.inherited

    def finding(
        self, what: str, got: object = None, fix: str = "", patch: tuple[Change, ...] = ()
    ) -> Finding:
        """A finding about this place.

        Args:
            what: What is wrong, a clause without a full stop.
            got: The offending value; None when there is none to show. Never a secret.
            fix: What to do about it; empty when `what` says it.
            patch: Safe changes of the written object which make it right.
        """
        where = self.written
        seen_at = f"{self.root.name}: {_path_text(self.path)}" if self.root.name else ""
        got = None if isinstance(got, Mark) else got
        return Finding(where.path, what, got, fix, patch, seen_at, where.inherited)

    def set_to(self, value: object) -> tuple[Change, ...]:
        """The patch that sets this place; none where it is not the user's own object that says it."""
        where = self.written
        if where.inherited or where.path[-1:] != self.path[-1:]:
            return ()
        return (Change(where.path, value),)

    def _known(self) -> Any:
        if self.raw is UNKNOWN:
            raise UnseenValue(self.written.path)
        return self.raw


def present(values: Iterable[Value]) -> Iterator[Value]:
    """Those of some places at which something stands, or may yet: most fields of most objects are absent."""
    return (each for each in values if each.raw is not ABSENT)


def _raw_below(raw: Any, key: str | int) -> Any:
    if raw is UNKNOWN:
        return UNKNOWN
    if isinstance(key, str):
        return raw.get(key, ABSENT) if is_mapping(raw) else ABSENT
    return raw[key] if is_list(raw) and key < len(raw) else ABSENT
