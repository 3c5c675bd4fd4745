"""Where a value of an object is written: in the text of its own, or in one that a part of it is from.

An overlay's patch is the place of what it sets, and the base that of all else. Of several overlays
that set a value, the outermost is the place.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from trainer_infra.api.finding import Path
from trainer_infra.review.documents import Document, Part, path_in, value_at


def written_place(document: Document, path: Path) -> tuple[Document, Path]:
    """The document with the text, and the path there of what stands at a path or is nearest above."""
    for length in range(len(path), 0, -1) if document.parts else ():
        above = path[:length]
        value = value_at(document.value, above)
        places = list(_places(document, above))
        exact = [place for said, place in places if said == value]
        if exact:
            return exact[0]
        if value is None:
            continue
        if document.has(above):
            break
        partly = [place for said, place in places if said is not None]
        if partly:
            return partly[0]
    return document, document.at(path)


def _places(document: Document, path: Path) -> Iterator[tuple[Any, tuple[Document, Path]]]:
    """What parts say of a path, each with its place; nothing where a part takes it away."""
    for part in document.parts:
        own = _path(document, part, path)
        if own is not None:
            yield value_at(part.value, own), (part.text, (*part.start, *own))


def _path(document: Document, part: Part, path: Path) -> Path | None:
    """The path in a part's value of what stands at a path; None where it says nothing of that."""
    if len(path) < len(part.at) or not _is_at(document, part, path):
        return None
    rest = path[len(part.at) :]
    own = path_in(part.value, value_at(document.value, path[: len(part.at)]), rest)
    if len(own) == len(rest):
        return own
    parent = value_at(part.value, own)
    is_emptied = len(own) + 1 == len(rest) and isinstance(parent, Mapping) and rest[-1] in parent
    return (*own, rest[-1]) if is_emptied else None


def _is_at(document: Document, part: Part, path: Path) -> bool:
    """Whether a path leads to a part, or into it; a new item is where its list has it now."""
    for index, (own, key) in enumerate(zip(part.at, path, strict=False)):
        if str(own) != str(key):
            items = value_at(document.value, path[:index])
            is_new = isinstance(key, int) and index + 1 == len(part.at)
            if not is_new or path_in([part.value], items, (key,)) != (0,):
                return False
    return True
