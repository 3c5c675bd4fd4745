"""Values that the engine's protocol cannot carry, each by its place. Pure.

Called by `registration` for every resource of ours, before the engine gets their inputs: what the
protocol says of such a value ends in a traceback. YAML gives dates, a sweep numbers as keys, and
bytes that are no UTF-8 give texts that no encoding has.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, Final

from trainer_infra.api.finding import path_text
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject, JSONPath, json_leaves

_HIDDEN: Final = "secretData"
"""Input whose values are shown nowhere."""


def uncarried_values(inputs: JSONObject) -> Iterator[Problem]:
    """A problem for each such value and key among the inputs."""
    for path, value in json_leaves(inputs):
        yield from _problems(path, value)
    for path, key in _keys(inputs, ()):
        if isinstance(key, str):
            yield from _problems((*path, key), key)
        else:
            yield Problem(path_text(path), "must have texts as keys", key, f'write "{key}"')


def _problems(path: JSONPath, value: Any) -> Iterator[Problem]:
    what, fix = _uncarried(value)
    if what:
        got = None if path[0] == _HIDDEN else value
        visible = path_text(path).encode("utf-8", "backslashreplace").decode()
        yield Problem(visible, what, got, fix)


def _keys(value: Any, path: JSONPath) -> Iterator[tuple[JSONPath, Any]]:
    """Every key, with the path of its mapping."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield path, key
            yield from _keys(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _keys(each, (*path, index))


def _uncarried(value: Any) -> tuple[str, str]:
    """What is wrong with a value, and what to do; both empty where nothing is."""
    if isinstance(value, str):
        whole = not any("\ud800" <= each <= "\udfff" for each in value)
        what = "cannot be encoded, it has half of a surrogate pair in it"
        fix = "decode bytes with their own encoding, without surrogateescape"
        return ("", "") if whole else (what, fix)
    if isinstance(value, int | float | None):
        return "", ""
    kind = type(value).__name__
    what = f"must be text, a number, true or false, a list or a mapping, not {kind}"
    return what, f'quote it: "{value}"' if isinstance(value, date) else ""
