"""Objects that a tool built from files, placed where they are written.

An object that came out as it is written is that document itself, edits included; another one points
at what it was built from, and nothing can mend it there unasked.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from trainer_infra.json_values import JSONObject
from trainer_infra.review import template_text
from trainer_infra.review.documents import Document, value_at


def placed_document(
    built: Sequence[JSONObject], written: Sequence[Document], file: str
) -> Iterator[Document]:
    """The objects that were built, in the order in which they are written, from the objects of one file."""
    for kind in dict.fromkeys(each.get("kind") for each in built):
        these = [each for each in built if each.get("kind") == kind]
        those = [each for each in written if each.value.get("kind") == kind]
        if len(those) == 1:
            # A loop in a template makes several of one.
            those *= len(these)
        for index, each in enumerate(these):
            is_same = len(these) == len(those)
            yield _placed(each, those[index] if is_same else named_document(each, those), file)


def canonical_json(value: object) -> str:
    """The JSON text of a value, the same for the same one: `true` is not 1."""
    return json.dumps(value, sort_keys=True, default=str)


def _placed(value: JSONObject, written: Document | None, file: str) -> Document:
    if written is None:
        return Document(value, file, None, is_editable=False)
    if canonical_json(value) == canonical_json(written.value):
        return written
    return replace(written, value=value, is_editable=False)


def named_document(value: JSONObject, written: Sequence[Document]) -> Document | None:
    """The one whose name is in the object's, the longest one; None where there are several."""
    fitting = [(len(_fit(each.value, value)), each) for each in written]
    longest = max((length for length, _ in fitting), default=0)
    found = [each for length, each in fitting if length == longest > 0]
    return found[0] if len(found) == 1 else None


def _fit(written: JSONObject, value: JSONObject) -> str:
    """What two names have in common: all that a name says, in order, but for what a template makes."""
    said = [each for each in _name(written).split(template_text.BLANK) if each]
    pattern = ".*".join(map(re.escape, said))
    return "".join(said) if re.search(pattern, _name(value)) else ""


def _name(value: JSONObject) -> str:
    return str(value_at(value, ("metadata", "name")) or "")
