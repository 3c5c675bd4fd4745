"""A place in an object: what stands there, and its path. Reading it never raises but for Unseen.

Every rule reads objects through it: objects of kinds without a schema may have anything anywhere,
and during a preview some values are not known yet. A list or mapping that is not known is noted and
read as empty, so that the rest is judged; a scalar that is not known ends the judgement of its
place alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from trainer_infra.api import quantity
from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import InvalidInput
from trainer_infra.rules.finding import Change, Finding


class Mark(Enum):
    """Stands where an object has no value of its own."""

    UNKNOWN = auto()
    """There is one, but it is known only once something else is deployed."""
    ABSENT = auto()
    """There is none."""


UNKNOWN: Final = Mark.UNKNOWN
ABSENT: Final = Mark.ABSENT

JSON: TypeAlias = Mapping[str, Any]


class Unseen(Exception):
    """A value that a rule needs is not known yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True, slots=True)
class Written:
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
    written: Callable[[Path], Written] = Written
    """Where the user wrote what stands at a path of this object."""
    unseen: dict[Path, None] = field(default_factory=dict)
    """Written paths of lists and mappings that were not known, since somebody last emptied it."""


class Value:
    """What stands at a place of an object.

    Attributes:
        raw: The JSON value as it is, or a Mark; whoever takes it takes care of unknown ones in it.
        root: The object that it is in.
    """

    __slots__ = ("_key", "_parent", "raw", "root")

    def __init__(
        self, raw: Any, root: Root, parent: "Value | None" = None, key: str | int = ""
    ) -> None:
        self.raw = raw
        self.root = root
        self._parent = parent
        self._key = key

    @property
    def path(self) -> Path:
        """From the root of its object."""
        keys: list[str | int] = []
        here = self
        while here._parent is not None:
            keys.append(here._key)
            here = here._parent
        return tuple(reversed(keys))

    def __getitem__(self, key: str | int) -> "Value":
        """What stands below a key or a list position; absent where there is nothing."""
        raw, found = self.raw, ABSENT
        if raw is UNKNOWN:
            found = UNKNOWN
        elif isinstance(key, str):
            if isinstance(raw, Mapping):
                found = raw.get(key, ABSENT)
        elif _is_list(raw) and key < len(raw):
            found = raw[key]
        return Value(ABSENT if found is None else found, self.root, self, key)

    def at(self, *keys: str | int) -> "Value":
        """What stands below several keys."""
        found = self
        for each in keys:
            found = found[each]
        return found

    def is_there(self) -> bool:
        """Whether there is a value, also an empty one.

        Raises:
            Unseen: It is not known.
        """
        return self._known() is not ABSENT

    def text(self) -> str:
        """A string; empty where there is none.

        Raises:
            Unseen: It is not known.
        """
        raw = self._known()
        return raw if isinstance(raw, str) else ""

    def flag(self) -> bool | None:
        """A boolean; None where there is none.

        Raises:
            Unseen: It is not known.
        """
        raw = self._known()
        return raw if isinstance(raw, bool) else None

    def number(self) -> int | None:
        """A whole number; None where there is none. Pulumi hands numbers over as floats.

        Raises:
            Unseen: It is not known.
        """
        raw = self._known()
        if isinstance(raw, float) and raw.is_integer():
            return int(raw)
        return raw if isinstance(raw, int) and not isinstance(raw, bool) else None

    def quantity(self) -> Decimal | None:
        """A Kubernetes quantity in units; None where there is none that can be read.

        Raises:
            Unseen: It is not known.
        """
        raw = self._known()
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            return None
        try:
            return quantity.parse(raw)
        except (InvalidInput, ValueError):
            return None

    def items(self) -> Iterator["Value"]:
        """The items of a list; none of one that is not known, which is noted."""
        if self.is_noted():
            return
        if _is_list(self.raw):
            yield from (self[index] for index in range(len(self.raw)))

    def fields(self) -> Iterator[tuple[str, "Value"]]:
        """The fields of a mapping; none of one that is not known, which is noted."""
        if self.is_noted():
            return
        if isinstance(self.raw, Mapping):
            yield from ((key, self[key]) for key in self.raw if isinstance(key, str))

    def texts(self) -> tuple[str, ...]:
        """The strings of a list; what is not known among them is noted and left out."""
        known = (each for each in self.items() if not each.is_noted())
        return tuple(each.raw for each in known if isinstance(each.raw, str))

    def is_noted(self) -> bool:
        """Whether it is not known, which is noted then: for rules that go on without it."""
        if self.raw is not UNKNOWN:
            return False
        self.root.unseen[self.root.written(self.path).path] = None
        return True

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
        path = self.path
        where = self.root.written(path)
        seen_at = f"{self.root.name}: {path_text(path)}" if self.root.name else ""
        return Finding(where.path, what, got, fix, patch, seen_at, where.inherited)

    def set_to(self, value: object) -> tuple[Change, ...]:
        """The patch that sets this place; none where it is not the user's own object that says it."""
        path = self.path
        where = self.root.written(path)
        if where.inherited or where.path[-1:] != path[-1:]:
            return ()
        return (Change(where.path, value),)

    def _known(self) -> Any:
        if self.raw is UNKNOWN:
            raise Unseen(self.root.written(self.path).path)
        return self.raw


def _is_list(raw: object) -> bool:
    return isinstance(raw, Sequence) and not isinstance(raw, str | bytes)
