"""The fields of an object that a kustomization's `replacements` write into.

A field path has names between dots (a backslash before a dot takes it as a part of a name),
positions, `[name=web]` for the items of a list that have that, and `*` for all of them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import Path

_NAME: Final = re.compile(r"(?:\[[^\]]*\]|\\.|[^.\\])+")
_CHOICE: Final = re.compile(r"\[([^=\]]+)=([^\]]*)\]")


def field_paths(value: Any, field_path: str) -> Iterator[Path]:
    """Paths of what stands in an object at a field path; none where nothing does."""
    keys = [re.sub(r"\\(.)", r"\1", each) for each in _NAME.findall(field_path)]
    yield from _paths(value, keys)


def _paths(value: Any, keys: list[str]) -> Iterator[Path]:
    if not keys:
        yield ()
        return
    for own, each in _inside(value, keys[0]):
        yield from ((own, *path) for path in _paths(each, keys[1:]))


def _inside(value: Any, key: str) -> Iterator[tuple[str | int, Any]]:
    """What a key leads to."""
    if isinstance(value, Mapping):
        if key in value:
            yield key, value[key]
        return
    choice = _CHOICE.fullmatch(key)
    for index, each in enumerate(value if isinstance(value, list) else ()):
        is_chosen = (
            isinstance(each, Mapping) and str(each.get(choice[1])) == choice[2]
            if choice
            else key in {"*", str(index)}
        )
        if is_chosen:
            yield index, each
