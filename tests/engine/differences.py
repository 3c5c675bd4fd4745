"""What differs between two values, as a tree, and where a provider says what differs."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.engine import values

ABSENT = object()
"""In the place of a value that is not there."""


@dataclass
class Difference:
    """What became of one value; of what is in it where both are objects, or both lists."""

    old: Any = ABSENT
    new: Any = ABSENT
    inner: dict[Any, "Difference"] = field(default_factory=dict)

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not self.inner and self.old == self.new


def between(old: Any, new: Any) -> Difference:
    """The difference of two values."""
    if old == new or (values.is_secret(old) and values.is_secret(new)):
        # Whether a secret is another one is nobody's business.
        return Difference(new, new)
    if isinstance(old, Mapping) and isinstance(new, Mapping) and not _marked(old, new):
        keys = sorted(key for key in old.keys() | new.keys() if not key.startswith("__"))
        pairs = ((key, _present(old, key), _present(new, key)) for key in keys)
        inner = {key: between(a, b) for key, a, b in pairs if a is not b or a is not ABSENT}
        # What differs may be internal alone.
        changed = not all(each.is_same for each in inner.values())
        return Difference(old, new, inner) if changed else Difference(new, new)
    if isinstance(old, list) and isinstance(new, list):
        length = max(len(old), len(new))
        padded = ([*each, *[ABSENT] * (length - len(each))] for each in (old, new))
        return Difference(old, new, dict(enumerate(map(between, *padded))))
    return Difference(old, new)


def _marked(*found: Any) -> bool:
    return any(map(values.is_secret, found))


def _present(where: Mapping[str, Any], key: str) -> Any:
    return ABSENT if where.get(key) is None else where[key]


def named(paths: Mapping[str, tuple[str, bool]], old: Mapping[bool, Any], new: Any) -> Difference:
    """The difference that a provider names.

    Args:
        paths: each path, with `ADD`, `UPDATE` or `DELETE` and whether its old value is an input.
        old: inputs under True, outputs under False.
        new: inputs.
    """
    root = Difference(old[True], new)
    for path, (kind, is_input) in sorted(paths.items()):
        keys = steps(path)
        place = root
        for key in keys[:-1]:
            place = place.inner.setdefault(key, Difference({}, {}))
        before = ABSENT if kind.startswith("ADD") else found(old[is_input], keys)
        after = ABSENT if kind.startswith("DELETE") else found(new, keys)
        secret = values.is_secret(before) and values.is_secret(after)
        place.inner[keys[-1]] = Difference(before, after) if secret else between(before, after)
    return root


def steps(path: str) -> list[str | int]:
    """The keys and positions of a property's path: `a.b["c.d"][0]`."""
    parts = re.findall(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)', path)
    return [
        int(index) if index else key or json.loads(f'"{quoted}"') for quoted, index, key in parts
    ]


def found(value: Any, keys: list[str | int]) -> Any:
    """What is at a path of a value."""
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return value


def put(value: Any, keys: list[str | int], what: Any) -> bool:
    """Put something at a path of a value, or nothing; whether there is such a place."""
    *way, last = keys
    place = found(value, way)
    if isinstance(place, dict):
        if what is ABSENT:
            place.pop(last, None)
        else:
            place[last] = what
        return True
    if (
        isinstance(place, list)
        and isinstance(last, int)
        and last < len(place)
        and what is not ABSENT
    ):
        place[last] = what
        return True
    return False


def decoded(text: str) -> tuple[Any, str] | None:
    """The object or list that a text is, and its language; None where it is neither."""
    stripped = text.strip()
    try:
        value, kind = json.loads(stripped), "json"
    except ValueError:
        if "\n" not in stripped:
            return None
        try:
            value, kind = yaml.load(stripped, yaml.CSafeLoader), "yaml"
        except (yaml.YAMLError, ValueError):
            return None
    if isinstance(value, dict):
        return {str(key): each for key, each in value.items()}, kind
    return (value, kind) if isinstance(value, list) else None
