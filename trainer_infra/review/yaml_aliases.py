"""What is written once and used in several places: anchors, aliases, merged fields.

Called by `edits`: such a place must not change for one of its users alone.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from yaml.nodes import MappingNode, Node, SequenceNode

from trainer_infra.api.finding import Path
from trainer_infra.review.documents import Document

_ANCHOR: Final = re.compile(r"&([^\s,\[\]{}]+)")
_PROPERTIES: Final = re.compile(r"(?:![^\s&]*\s+)?&([^\s,\[\]{}]+)")
"""At the beginning of a node: a tag, and the anchor."""


def is_shared(document: Document, path: Path) -> bool:
    """Whether what stands at a path, or above it, is an alias, or is what an alias stands for."""
    nodes = tuple(_way(document, path))
    if any(_is_alias(document, above, key, below) for (above, _), (below, key) in pairwise(nodes)):
        return True
    return any(_is_used(document, each) for each, _ in nodes)


def has_anchor(lines: Iterable[str]) -> bool:
    """Whether there may be an anchor in the lines, which an alias elsewhere may need."""
    return any(_ANCHOR.search(each) for each in lines)


def is_alias(key: Node, value: Node) -> bool:
    """Whether a field's value is written elsewhere: before its key."""
    return alias_begins(value) < alias_begins(key)


def alias_begins(node: Node) -> tuple[int, int]:
    """Line and column, from 0."""
    return node.start_mark.line, node.start_mark.column


def alias_ends(node: Node) -> tuple[int, int]:
    """Line and column behind it, from 0."""
    return node.end_mark.line, node.end_mark.column


def _way(document: Document, path: Path) -> Iterator[tuple[Node, str | int]]:
    """The nodes from the root down to a path, as far as there are any, with their keys."""
    if document.source is not None:
        for length in range(len(path) + 1):
            node = document.source.node(path[:length])
            if node is None:
                return
            yield node, path[length - 1] if length else ""


def _is_alias(document: Document, above: Node, key: str | int, below: Node) -> bool:
    """Whether it is written elsewhere than its parent, or merged into it."""
    if isinstance(above, SequenceNode):
        return alias_begins(below) < max(
            [alias_begins(above), *map(alias_ends, above.value[: int(key)])]
        )
    fields = document.source.fields[id(above)] if document.source else {}
    name = fields[key][0]
    is_own = isinstance(above, MappingNode) and any(each is name for each, _ in above.value)
    return not is_own or is_alias(name, below)


def _is_used(document: Document, node: Node) -> bool:
    """Whether it has an anchor that an alias refers to."""
    line, column = alias_begins(node)
    text = document.lines[line][column:] if line < len(document.lines) else ""
    anchor = _PROPERTIES.match(text)
    return anchor is not None and any(f"*{anchor[1]}" in each for each in document.lines)
