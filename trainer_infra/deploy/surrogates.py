"""Texts that no encoding has: those with half of a surrogate pair in them. Pure.

Called by `declared` for every resource of ours, before the engine gets their inputs: neither its
protocol nor JSON can carry such a text, and both would say so without its place. Python makes them
of bytes that are no UTF-8, and of JSON's escapes.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import Problem

_HIDDEN: Final = "secretData"
"""Input whose values are shown nowhere."""


def problems(inputs: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem for each such text among the inputs, keys included."""
    for path, text in _texts(inputs, ()):
        if any("\ud800" <= each <= "\udfff" for each in text):
            yield Problem(
                _visible(path_text(path)),
                "cannot be encoded, it has half of a surrogate pair in it",
                None if path[0] == _HIDDEN else text,
                "decode bytes with their own encoding, without surrogateescape",
            )


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield (*path, str(key)), str(key)
            yield from _texts(each, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _texts(each, (*path, index))


def _visible(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
