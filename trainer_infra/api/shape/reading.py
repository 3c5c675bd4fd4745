"""Values that are not known, and the reading of an object in which some are.

A walk notes an unknown value and goes on. A predicate that compares several values is given a reading,
which raises for an unknown one: that ends what the predicate says, and nothing else.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final

from typing_extensions import override

from trainer_infra.api.finding import Path, StandIn

MayHave = Callable[[Path], bool]
"""Whether something that is not known may yet stand at a path where nothing does."""


class Mark(Enum):
    """Stands where an object has no value of its own."""

    UNKNOWN = auto()
    """There is one, but it is known only once something else is deployed."""
    ABSENT = auto()
    """There is none."""


UNKNOWN: Final = Mark.UNKNOWN
ABSENT: Final = Mark.ABSENT
_SCALARS: Final = frozenset((Mark, str, int, bool, float, type(None)))
"""Types of most values without anything below, which are asked for first: that is far faster."""


class UnseenValue(Exception):
    """A value that a rule needs is not known yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


class _Fields(Mapping[str, Any]):
    """A mapping; asking it for what is not known raises UnseenValue. A field that is null is not there."""

    __slots__ = ("_may_have", "_path", "_raw")

    def __init__(self, raw: Mapping[str, Any], path: Path, may_have: MayHave) -> None:
        self._raw = raw
        self._path = path
        self._may_have = may_have

    @override
    def __getitem__(self, key: str) -> Any:
        raw, path = self._raw.get(key), (*self._path, key)
        if raw is None and self._may_have(path):
            raise UnseenValue(path)
        if raw is None:
            raise KeyError(key)
        return reading(raw, path, self._may_have)

    @override
    def __iter__(self) -> Iterator[str]:
        return (key for key, each in self._raw.items() if each is not None)

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Items(Sequence[Any]):
    """A list; asking it for an item that is not known raises UnseenValue."""

    __slots__ = ("_may_have", "_path", "_raw")

    def __init__(self, raw: Sequence[Any], path: Path, may_have: MayHave) -> None:
        self._raw = raw
        self._path = path
        self._may_have = may_have

    @override
    def __getitem__(self, index: Any) -> Any:
        return reading(self._raw[index], (*self._path, index), self._may_have)

    @override
    def __len__(self) -> int:
        return len(self._raw)


def reading(raw: Any, path: Path, may_have: MayHave) -> Any:
    """A value as a predicate reads it.

    Raises:
        UnseenValue: It is not known.
    """
    if raw is UNKNOWN:
        raise UnseenValue(path)
    if isinstance(raw, Mapping):
        return _Fields(raw, path, may_have)
    if isinstance(raw, list | tuple):
        return _Items(raw, path, may_have)
    return raw


def has_unknown(value: Any) -> bool:
    """Whether it is not known, or something in it is not."""
    if type(value) in _SCALARS:
        return value is UNKNOWN
    if is_mapping(value):
        return any(map(has_unknown, value.values()))
    return is_list(value) and any(map(has_unknown, value))


def unknown_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of the values that are not known."""
    if value is UNKNOWN:
        yield path
    elif has_unknown(value):
        for key, each in value.items() if is_mapping(value) else enumerate(value):
            yield from unknown_paths(each, (*path, key))


def with_stand_ins(value: Any, path: Path = ()) -> Any:
    """A copy in which each of them is a text of its own, so that no two are the same.

    Of use to what judges an object as a whole and knows no unknown values: schemas and the renderer.
    """
    if value is UNKNOWN:
        return StandIn(f"unknown-{'-'.join(map(str, path))}")
    if isinstance(value, Mapping):
        return {key: with_stand_ins(each, (*path, key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [with_stand_ins(each, (*path, index)) for index, each in enumerate(value)]
    return value


def is_mapping(raw: object) -> bool:
    """Whether it is a mapping, of JSON or of Pulumi."""
    kind = type(raw)
    if kind is list or kind in _SCALARS:
        return False
    return kind is dict or isinstance(raw, Mapping)


def is_list(raw: object) -> bool:
    """Whether it is a list or tuple, of JSON or of Pulumi."""
    kind = type(raw)
    if kind is dict or kind in _SCALARS:
        return False
    return kind is list or (isinstance(raw, Sequence) and not isinstance(raw, str | bytes))
