"""Long texts that members of a batch have in common, kept once and referred to by name.

Pure. A thousand members that train with one function would otherwise carry its code two thousand
times, and the engine spends tens of milliseconds on each; and a changed line of it would be shown
as often.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from trainer_infra.json_values import JSON, json_leaves, with_leaves
from trainer_infra.trainers.code import content_hash

LONG: Final = 200
"""From this many characters on, a text is kept apart."""

_BEGIN, _END = "<text ", ">"


def share_texts(value: JSON) -> tuple[Any, dict[str, str]]:
    """The value with a reference in place of each long text, and the texts by name.

    A text is named for the field that it was first found in, so that a preview compares it with
    what that field had before; where several texts have a name, a hash tells them apart.
    """
    fields: dict[str, str] = {}
    # Objects come back from the engine in another order.
    texts = ((path, leaf) for path, leaf in json_leaves(value) if isinstance(leaf, str))
    for path, text in sorted(
        each for each in texts if len(each[1]) >= LONG or _is_reference(each[1])
    ):
        fields.setdefault(text, next((key for key in reversed(path) if isinstance(key, str)), ""))
    taken = Counter(fields.values())
    keys = {
        text: field if taken[field] == 1 else f"{field} {content_hash(text)}"
        for text, field in fields.items()
    }

    def referring(leaf: Any) -> Any:
        return f"{_BEGIN}{keys[leaf]}{_END}" if isinstance(leaf, str) and leaf in keys else leaf

    return with_leaves(value, referring), {key: text for text, key in keys.items()}


def restore_texts(value: JSON, texts: Mapping[str, str]) -> Any:
    """The value that `share_texts` was given."""
    return with_leaves(
        value, lambda leaf: texts.get(_name(leaf), leaf) if _is_reference(leaf) else leaf
    )


def text_names(value: JSON) -> set[str]:
    """The names of all texts that a value refers to."""
    return {_name(leaf) for _, leaf in json_leaves(value) if _is_reference(leaf)}


def _name(reference: str) -> str:
    return reference[len(_BEGIN) : -len(_END)]


def _is_reference(leaf: Any) -> bool:
    return isinstance(leaf, str) and leaf.startswith(_BEGIN) and leaf.endswith(_END)
