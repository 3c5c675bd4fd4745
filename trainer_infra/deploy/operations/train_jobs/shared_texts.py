"""Long texts that members of a batch have in common, kept once and referred to by name.

Pure; called by `batch`, before the engine gets the inputs, and by `members`. A thousand members that
train with one function would otherwise carry its code two thousand times, and the engine spends
tens of milliseconds on each; and a changed line of it would be shown as often.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.trainers.code import content_hash

LONG: Final = 200
"""From this many characters on, a text is kept apart."""

_BEGIN, _END = "<text ", ">"


def shared(value: Any) -> tuple[Any, dict[str, str]]:
    """The value with a reference in place of each long text, and the texts by name.

    A text is named for the field that it was first found in, so that a preview compares it with
    what that field had before; where several texts have a name, a hash tells them apart.
    """
    fields: dict[str, str] = {}
    for field, text in _long(value, ""):
        fields.setdefault(text, field)
    taken = Counter(fields.values())
    keys = {
        text: field if taken[field] == 1 else f"{field} {content_hash(text)}"
        for text, field in fields.items()
    }
    return _referring(value, keys), {key: text for text, key in keys.items()}


def restored(value: Any, texts: Mapping[str, str]) -> Any:
    """The value that `shared` was given."""
    if isinstance(value, str):
        return texts.get(value[len(_BEGIN) : -len(_END)], value) if _refers(value) else value
    if isinstance(value, Mapping):
        return {key: restored(each, texts) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [restored(each, texts) for each in value]
    return value


def named(value: Any) -> set[str]:
    """The names of all texts that a value refers to."""
    if isinstance(value, str):
        return {value[len(_BEGIN) : -len(_END)]} if _refers(value) else set()
    if isinstance(value, Mapping):
        value = list(value.values())
    return set().union(*map(named, value)) if isinstance(value, list | tuple) else set()


def _long(value: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if len(value) >= LONG or _refers(value):
            yield field, value
    elif isinstance(value, Mapping):
        # Objects come back from the engine in another order.
        for key in sorted(value):
            yield from _long(value[key], key)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _long(each, field)


def _referring(value: Any, keys: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return f"{_BEGIN}{keys[value]}{_END}" if value in keys else value
    if isinstance(value, Mapping):
        return {key: _referring(each, keys) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_referring(each, keys) for each in value]
    return value


def _refers(text: str) -> bool:
    return text.startswith(_BEGIN) and text.endswith(_END)
