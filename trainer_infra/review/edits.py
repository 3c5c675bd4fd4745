"""A patch -> the pieces of text that it replaces: comments and layout of all else stay.

Where a change cannot be made without touching something else, a human has to make it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from trainer_infra.api import yamltext
from trainer_infra.api.finding import Path
from trainer_infra.review.documents import Document
from trainer_infra.review.report import Edit
from trainer_infra.rules.finding import REMOVED, Change

Position = tuple[int, int]
"""Line and column, from 1."""
Piece = tuple[Position, Position, str]
"""Start, end and new text."""

_PLAIN: Final = "plain"
_NOTHING: Final = frozenset({"", "~", "null", "Null", "NULL"})
_MERGE: Final = "<<"
_TWO_ESCAPES: Final = re.compile(r"\\u[dD][89abAB]")
"""In JSON: a character that counts as another number of columns when it is read as YAML."""
_ANCHOR: Final = re.compile(r"&([^\s,\[\]{}]+)")
_PROPERTIES: Final = re.compile(r"(?:![^\s&]*\s+)?&([^\s,\[\]{}]+)")
"""At the beginning of a node: a tag, and the anchor."""


def edits(document: Document, patch: Iterable[Change]) -> tuple[Edit, ...]:
    """The edits that make a patch; none where a part of it cannot be made without a human."""
    if document.source is None or not document.is_editable:
        return ()
    found = []
    for change in patch:
        made = _edit(document, (*document.start, *change.path), change.value)
        if made is None:
            return ()
        found.append(Edit(document.file, *made))
    return tuple(found)


def _edit(document: Document, path: Path, value: Any) -> Piece | None:
    source = document.source
    if source is None or is_shared(document, path) or _is_shifted(document):
        return None
    node = source.node(path)
    if node is not None:
        return _removed(document, path) if value is REMOVED else _replaced(document, node, value)
    if value is REMOVED:
        return None
    depth = next(at for at in reversed(range(len(path))) if source.node(path[:at]) is not None)
    if any(isinstance(key, int) for key in path[depth:]):
        return None
    whole: Any = value
    for key in reversed(path[depth:]):
        whole = {key: whole}
    return _added(document, path[:depth], whole)


def _replaced(document: Document, node: Node, value: Any) -> Piece | None:
    start, end = _start(node), _last(document, node)
    if end is None or _has_more(document, node, start, end):
        return None
    if start == end:
        # A value behind its colon or dash.
        before = document.lines[start[0] - 1][: start[1] - 1]
        if not before.rstrip().endswith((":", "-")):
            return None
        space = "" if before.endswith(" ") else " "
        return start, start, f"{space}{_flow(document, value)}"
    if isinstance(node, CollectionNode) and not node.flow_style:
        kind = Mapping if isinstance(node, MappingNode) else list
        is_like = isinstance(value, kind) and len(value) > 0
        return (start, end, _block(value, start[1] - 1).lstrip(" ")) if is_like else None
    return start, end, _flow(document, value)


def _has_more(document: Document, node: Node, start: Position, end: Position) -> bool:
    """Whether there is something in it that would be lost: comments, or anchors for others."""
    if isinstance(node, ScalarNode):
        return node.style in ("|", ">") and "#" in document.lines[start[0] - 1][start[1] :]
    lines = document.lines[start[0] - 1 : end[0]]
    return has_anchor(lines) or any("#" in each for each in lines)


def _removed(document: Document, path: Path) -> Piece | None:
    """A field of a block goes with its lines."""
    source = document.source
    parent, node = (source.node(path[:-1]), source.node(path)) if source else (None, None)
    if not isinstance(parent, MappingNode) or parent.flow_style or node is None:
        return None
    names = [key.value for key, _ in parent.value]
    line, column = document.place(path)
    end = _last(document, node)
    is_alone = document.lines[line - 1][: column - 1].strip() == ""
    if len(names) == 1 or names.count(path[-1]) > 1 or _MERGE in names or not is_alone:
        return None
    if end is None or has_anchor(document.lines[line - 1 : end[0]]):
        return None
    return (line, 1), (end[0] + 1, 1), ""


def _added(document: Document, path: Path, whole: Mapping[str, Any]) -> Piece | None:
    parent = document.source.node(path) if document.source else None
    if isinstance(parent, ScalarNode):
        return _into_nothing(document, path, parent, whole)
    if not isinstance(parent, MappingNode):
        return None
    if parent.flow_style:
        return _into_flow(document, parent, whole)
    end = _last(document, parent)
    if end is None:
        return None
    at = end[0], len(document.lines[end[0] - 1]) + 1
    return at, at, f"\n{_block(whole, parent.value[0][0].start_mark.column)}"


def _into_flow(document: Document, parent: MappingNode, whole: Mapping[str, Any]) -> Piece | None:
    """First in the braces: nothing that follows can then be in the way."""
    line, column = _start(parent)
    text = document.lines[line - 1]
    if text[column - 1 : column] != "{":
        return None
    at, entry = (line, column + 1), _flow(document, whole)[1:-1]
    if not parent.value:
        return at, at, entry
    first = parent.value[0][0].start_mark
    if text[column:].strip() == "" and first.line == line:
        return at, at, f"\n{' ' * first.column}{entry},"
    return at, at, f"{entry}, "


def _into_nothing(
    document: Document, path: Path, node: ScalarNode, whole: Mapping[str, Any]
) -> Piece | None:
    """Below a field that has no value as yet."""
    if node.tag != _PLAIN or node.value not in _NOTHING or not path:
        return None
    if node.value or _is_in_flow(document, path):
        return _replaced(document, node, whole)
    if isinstance(path[-1], int):
        return None
    line, _ = _start(node)
    at = line, len(document.lines[line - 1]) + 1
    return at, at, f"\n{_block(whole, document.place(path)[1] + 1)}"


def _is_in_flow(document: Document, path: Path) -> bool:
    above = (node for node, _ in _way(document, path[:-1]))
    return any(isinstance(each, CollectionNode) and each.flow_style for each in above)


def _last(document: Document, node: Node) -> Position | None:
    """The position behind a node; None where that cannot be told: its last part is an alias."""
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        key, below = last if isinstance(last, tuple) else (node, last)
        if is_alias(key, below):
            line = key.start_mark.line
            is_here = key is not node and "*" in document.lines[line][key.end_mark.column :]
            return (line + 1, len(document.lines[line]) + 1) if is_here else None
        if key is node and len(node.value) > 1 and alias_begins(below) < alias_ends(node.value[-2]):
            return None
        node = below
    return _behind(document, node)


def _behind(document: Document, node: Node) -> Position:
    """Behind the node; libyaml has a text block end where the next token begins."""
    line, column = alias_ends(node)
    is_text = isinstance(node, ScalarNode) and node.style in ("|", ">")
    here = document.lines[line][:column] if line < len(document.lines) else ""
    if not is_text or here.strip():
        return line + 1, column + 1
    header = document.lines[node.start_mark.line][node.start_mark.column :]
    line -= 1
    while line > node.start_mark.line and not document.lines[line].strip() and "+" not in header:
        line -= 1
    return line + 1, len(document.lines[line]) + 1


def _block(value: Any, indent: int) -> str:
    """The value on lines of its own, each with an indent."""
    whole = value if isinstance(value, Mapping) else {"": value}
    text = yamltext.dump_yaml([whole]).removeprefix("---\n").removesuffix("\n")
    if "|" in text:
        # A text block may end in lines that matter: each part on one line instead.
        text = "\n".join(_parts(value))
    elif whole is not value:
        text = text.partition("\n")[2]
    return "\n".join(f"{' ' * indent}{line}" for line in text.split("\n"))


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (yamltext.flow_text({key: each})[1:-1] for key, each in value.items())
    else:
        yield from (f"- {yamltext.flow_text([each])[1:-1]}" for each in value)


def _flow(document: Document, value: Any) -> str:
    """The value on one line, as it may stand anywhere in the document."""
    if _is_json(document):
        return json.dumps(value, ensure_ascii=False)
    return yamltext.flow_text([value])[1:-1]


def _is_json(document: Document) -> bool:
    first = next((each for each in document.lines if each.strip()), "")
    return first.lstrip().startswith(("{", "["))


def _is_shifted(document: Document) -> bool:
    return _is_json(document) and any(map(_TWO_ESCAPES.search, document.lines))


def _start(node: Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1


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
        ends = map(alias_ends, above.value[: int(key)])
        return alias_begins(below) < max([alias_begins(above), *ends])
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
