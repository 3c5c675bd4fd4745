"""A patch applied to an object, as values. Pure; `review.edits` does the same to text."""

from collections.abc import Iterable, Mapping
from typing import Any

from trainer_infra.api.finding import Path
from trainer_infra.rules.finding import REMOVED, Change


def apply_patch(value: Any, changes: Iterable[Change]) -> Any:
    """A copy of the object with the changes made; parents that are missing are made."""
    for each in changes:
        value = with_value(value, each.path, each.value)
    return value


def with_value(value: Any, path: Path, other: Any) -> Any:
    """A copy with another value at a path, or with none where that is REMOVED."""
    if not path:
        return other
    key, rest = path[0], path[1:]
    if isinstance(key, int):
        return _with_item(list(value) if isinstance(value, list | tuple) else [], key, rest, other)
    fields = dict(value) if isinstance(value, Mapping) else {}
    below = with_value(fields.get(key), rest, other)
    if below is REMOVED:
        fields.pop(key, None)
        return fields
    return {**fields, key: below}


def _with_item(items: list[Any], index: int, rest: Path, other: Any) -> list[Any]:
    below = with_value(items[index] if index < len(items) else None, rest, other)
    items[index : index + 1] = [] if below is REMOVED else [below]
    return items
