"""JSON values: their types, and one walk over the values that a value holds. Imports nothing of ours."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

JSON: TypeAlias = Any
"""Any JSON value; a tuple stands for a list as well."""
JSONObject: TypeAlias = Mapping[str, Any]
"""A JSON object that no code changes."""
JSONDict: TypeAlias = dict[str, Any]
"""A JSON object that is being made."""
JSONPath: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the outermost value, as `api.finding.path_text` shows them."""

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
"""Most values: asking whether one is a Mapping takes ten times as long."""


def json_leaves(value: JSON, path: JSONPath = ()) -> Iterator[tuple[JSONPath, Any]]:
    """Everything in a value that is not a mapping, list or tuple, each with its path, in order."""
    if type(value) in _SCALARS:
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from json_leaves(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from json_leaves(each, (*path, index))
    else:
        yield path, value


def with_leaves(value: JSON, function: Callable[[Any], Any]) -> Any:
    """A copy with `function` of every leaf in its place; tuples become lists."""
    if type(value) in _SCALARS:
        return function(value)
    if isinstance(value, Mapping):
        return {key: with_leaves(each, function) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [with_leaves(each, function) for each in value]
    return function(value)


def has_all(whole: JSON, part: JSON) -> bool:
    """Whether a value has all that another has: a server only adds."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            has_all(whole.get(key), value) for key, value in part.items()
        )
    if isinstance(part, list | tuple):
        return (
            isinstance(whole, list) and len(whole) == len(part) and all(map(has_all, whole, part))
        )
    return bool(whole == part)


def as_integer(value: Any) -> Any:
    """An integer in place of a whole float: Pulumi's protocol and metrics of a run have no other number than a double."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
