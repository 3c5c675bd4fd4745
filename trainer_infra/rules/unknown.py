"""Where an object has values that are not known, and the object with stand-ins for them.

Of use to what judges an object as a whole and knows no unknown values: schemas and the renderer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trainer_infra.api.finding import Path, StandIn
from trainer_infra.rules.value import UNKNOWN, is_list, is_mapping


def unknown_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of the values that are not known."""
    if value is UNKNOWN:
        yield path
    elif is_mapping(value):
        for key, each in value.items():
            yield from unknown_paths(each, (*path, key))
    elif is_list(value):
        for index, each in enumerate(value):
            yield from unknown_paths(each, (*path, index))


def with_stand_ins(value: Any, path: Path = ()) -> Any:
    """A copy in which each of them is a text of its own, so that no two are the same."""
    if value is UNKNOWN:
        return StandIn(f"unknown-{'-'.join(map(str, path))}")
    if isinstance(value, Mapping):
        return {key: with_stand_ins(each, (*path, key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [with_stand_ins(each, (*path, index)) for index, each in enumerate(value)]
    return value
