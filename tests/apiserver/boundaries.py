"""One row for each limit and rule of a CRD: a value on each side of it, and what the server says.

The rows are in trainjob_limits.py and runtime_limits.py, read by test_crd_boundaries.py.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

JSON = dict[str, Any]

TIME: Final = "2026-01-31T12:00:00Z"
IMMUTABLE: Final = "self == oldSelf"


@dataclass(frozen=True, slots=True)
class Row:
    """One limit or rule."""

    path: str
    """The field that has it; `[]` is any item of a list."""
    keyword: str
    """The schema's, for example maxLength; of a CEL rule its text."""
    accepted: Any
    """The last value that fits; for a rule about changes also the stored one."""
    refused: Any
    """The first one that does not; None takes the field away."""
    message: str
    """A part of what the server says of the refused one."""
    at: str = ""
    """Where the values stand, when not at `path` itself."""


@dataclass(frozen=True, slots=True)
class Limits:
    """All rows of one kind."""

    kind: str
    """TrainJob or TrainingRuntime."""
    seeds: Mapping[str, Any]
    """By path: what stands beside the ruled field so that nothing else is wrong."""
    rows: tuple[Row, ...]

    def whole(self, row: Row, value: Any) -> JSON:
        """A valid object but for the value at the row's place."""
        item: JSON = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": self.kind,
            "metadata": {"name": "boundary"},
            "spec": self._seed("spec"),
        }
        *parents, last = (row.at or row.path).split(".")
        inside, walked = item, ""
        for part in parents:
            walked = f"{walked}.{part}".lstrip(".")
            inside = _step(inside, part, self._seed(walked))
        put(inside, last, value)
        return item

    def _seed(self, path: str) -> JSON:
        found: JSON = copy.deepcopy(self.seeds.get(path, {}))
        return found


def _step(inside: JSON, part: str, seed: JSON) -> JSON:
    name = part.removesuffix("[]")
    if part == name:
        found: JSON = inside.setdefault(name, seed)
        return found
    items = inside.setdefault(name, [])
    if not items:
        items.append(seed)
    first: JSON = items[0]
    return first


def put(inside: JSON, part: str, value: Any) -> None:
    """Set a field, or a list of one item for `name[]`; None takes it away."""
    if value is None:
        inside.pop(part, None)
    elif part.endswith("[]"):
        inside[part.removesuffix("[]")] = [value]
    else:
        inside[part] = value


def shown(path: str) -> str:
    """A path as the server writes that of the first item."""
    return path.replace("[]", "[0]")


def below(path: str) -> str:
    """The same, in messages about a body: the server leaves the first name out for a status."""
    return shown(path).partition(".")[2]


# What rows are made of


def text(path: str, most: int, least: int = 0) -> Iterator[Row]:
    """A string's lengths."""
    says = f"{shown(path)}: Too long: may not be more than {most}"
    yield Row(path, "maxLength", "x" * most, "x" * (most + 1), says)
    if least:
        says = f"{below(path)} in body should be at least {least} chars long"
        yield Row(path, "minLength", "x" * least, "x" * (least - 1), says)


def items(path: str, most: int, item: Any, key: str = "") -> Iterator[Row]:
    """A list's length, and that the key of a list map's items is there once only."""
    fits, too_many = (
        [item | {key: f"x{at}"} if key else item for at in range(number)]
        for number in (most, most + 1)
    )
    says = f"{shown(path)}: Too many: {most + 1}: must have at most {most} items"
    yield Row(path, "maxItems", fits, too_many, says)
    if key:
        yield once(path, fits[:2], [fits[0], fits[0]])


def once(path: str, accepted: Any, refused: Any) -> Row:
    """A list map's key, or a set's value, that may be there once only; the second is too much."""
    return Row(path, "unique", accepted, refused, f"{shown(path)}[1]: Duplicate value")


def required(path: str, value: Any) -> Row:
    """A field that must be there."""
    return Row(path, "required", value, None, f"{shown(path)}: Required value")


def number(path: str, least: int | None = None, most: int | None = None) -> Iterator[Row]:
    """A whole number's bounds."""
    if least is not None:
        says = f"{below(path)} in body should be greater than or equal to {least}"
        yield Row(path, "minimum", least, least - 1, says)
    if most is not None:
        says = f"{below(path)} in body should be less than or equal to {most}"
        yield Row(path, "maximum", most, most + 1, says)


def time(path: str) -> Row:
    """A time."""
    says = f'{below(path)} in body must be of type date-time: "2026-01-31"'
    return Row(path, "format", TIME, "2026-01-31", says)


def one_of(path: str, accepted: str, refused: str) -> Row:
    """One of some words."""
    return Row(path, "enum", accepted, refused, f'{shown(path)}: Unsupported value: "{refused}"')


def fixed(path: str, before: Any, after: Any, says: str = "field is immutable") -> Row:
    """A field that keeps its value once it is set."""
    return Row(path, IMMUTABLE, before, after, says)
