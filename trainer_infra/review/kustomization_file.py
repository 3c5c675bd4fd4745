"""A file `kustomization.yaml` -> its fields and its patches, each with the text that it stands in."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from yaml.nodes import ScalarNode

from trainer_infra.api import finding, yaml_source
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput
from trainer_infra.review import documents
from trainer_infra.review.documents import BOM, Document, value_at

Written = tuple[Document, finding.Path, Any]
"""What a kustomization has in a file or in itself: the text, where it is there, and its value."""
_FIELDS: Final = ("patchesJson6902", "patches", "patchesStrategicMerge")
"""Fields that have patches; kustomize applies those of the first last."""


@dataclass(frozen=True, slots=True)
class KustomizationPatch:
    """A strategic merge patch, or the operations of a JSON patch."""

    value: Any
    """An object, or a list of operations."""
    text: Document
    """Where it stands: a file of its own, or the kustomization."""
    start: finding.Path
    """Where it is in the text's document."""
    target: Mapping[str, Any] | None
    """What selects its objects; None where the patch itself names one."""


@dataclass(frozen=True, slots=True)
class KustomizationFile:
    """What one layer does to the objects of those below it."""

    text: Document
    """Its fields, as a document."""
    patches: tuple[KustomizationPatch, ...]
    """What kustomize applies last comes first."""
    replacements: tuple[Written, ...]
    """What its field of this name has, in files or in itself; the same order."""


def read_kustomization_file(file: str) -> KustomizationFile | None:
    """The layer that a file is; None where it cannot be read.

    Args:
        file: as reports name it.
    """
    text = next(_texts(file), None)
    if text is None or not isinstance(text.value, Mapping):
        return None
    replacements = tuple(_replacements(text))[::-1]
    return KustomizationFile(text, tuple(_patches(text)), replacements)


def _replacements(text: Document) -> Iterator[Written]:
    for index, each in enumerate(documents.items_at(text.value, "replacements")):
        found = _of_file(text, value_at(each, ("path",))) or [(text, ("replacements", index), each)]
        for there, start, value in found:
            # A file has one, or a list of them.
            inside = enumerate(value) if isinstance(value, list) else ()
            yield from ((there, (*start, position), one) for position, one in inside)
            yield there, start, value


def _texts(file: str) -> Iterator[Document]:
    """The documents of a file; none where it cannot be read."""
    try:
        whole = Path(file).read_text(encoding="utf-8").removeprefix(BOM)
        found = yaml_source.read_yaml(whole, file)
    except (OSError, ValueError, InvalidInput):
        return
    lines = tuple(whole.splitlines())
    yield from (_text(each, file, lines) for each in found)


def _text(source: Source, file: str, lines: tuple[str, ...]) -> Document:
    return Document(source.value, file, source, (), lines, is_editable=False)


def _patches(text: Document) -> Iterator[KustomizationPatch]:
    for name in _FIELDS:
        for index, each in reversed(tuple(enumerate(documents.items_at(text.value, name)))):
            yield from reversed(tuple(_patches_of(text, (name, index), each)))


def _patches_of(text: Document, start: finding.Path, entry: Any) -> Iterator[KustomizationPatch]:
    """What an entry has: it is a file's name or a patch itself, or names one of both."""
    if isinstance(entry, str):
        path, own, target = entry, start, None
    else:
        path, target = (value_at(entry, (field,)) for field in ("path", "target"))
        own = (*start, "patch")
    chosen = target if isinstance(target, Mapping) else None
    for there, at, value in _of_file(text, path) or _inline(text, own):
        yield KustomizationPatch(value, there, at, chosen)


def _of_file(text: Document, path: Any) -> Sequence[Written]:
    """The patches of a file; none where it is no file's name."""
    if not isinstance(path, str) or not path or "\n" in path:
        return ()
    file = os.path.normpath(Path(text.file).parent / path)
    return [(each, (), each.value) for each in _texts(file)]


def _inline(text: Document, path: finding.Path) -> Iterator[Written]:
    """A patch inside a text of the kustomization, with lines of its own where that is a block."""
    node = text.source.node(path) if text.source else None
    if not isinstance(node, ScalarNode):
        return
    try:
        whole = yaml_source.read_yaml(node.value, text.file)
        apart = _block(text, node) if node.style == "|" else ()
    except InvalidInput:
        return
    if [each.value for each in apart] == [each.value for each in whole]:
        yield from ((_text(each, text.file, text.lines), (), each.value) for each in apart)
    else:
        yield from ((text, path, each.value) for each in whole)


def _block(text: Document, node: ScalarNode) -> Sequence[Source]:
    """The documents of a text block, read with the file's own lines and columns."""
    first, last = node.start_mark.line + 1, node.end_mark.line
    lines = chain([""] * first, text.lines[first:last])
    try:
        return yaml_source.read_yaml("\n".join(lines) + "\n", text.file)
    except InvalidInput:
        # With its indent it is none: a mark between two patches.
        return ()
