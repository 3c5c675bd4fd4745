"""A patch -> the pieces of text that it replaces: comments and layout of all else stay.

Called by `check`; the edits of a report are applied by `fix` and shown as SARIF's fixes.
"""

from collections.abc import Iterable
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode

from trainer_infra.api import yamltext
from trainer_infra.api.finding import Path
from trainer_infra.api.yaml_source import Source
from trainer_infra.review.documents import Document
from trainer_infra.review.report import Edit
from trainer_infra.rules.finding import REMOVED, Change

Position = tuple[int, int]


def edits(document: Document, patch: Iterable[Change]) -> tuple[Edit, ...]:
    """The edits that make a patch; none where a part of it cannot be made without a human."""
    if document.source is None:
        return ()
    found = []
    for change in patch:
        made = _edit(document.source, (*document.start, *change.path), change.value)
        if made is None:
            return ()
        found.append(Edit(document.file, *made))
    return tuple(found)


def _edit(source: Source, path: Path, value: Any) -> tuple[Position, Position, str] | None:
    """Start, end and text."""
    node = source.node(path)
    if source.is_shared(path):
        return None
    if node is not None:
        return _removed(source, path) if value is REMOVED else _replaced(node, value)
    if value is REMOVED:
        return None
    depth = next(at for at in reversed(range(len(path))) if source.node(path[:at]) is not None)
    parent, missing = source.node(path[:depth]), path[depth:]
    if parent is None or any(isinstance(key, int) for key in missing):
        return None
    whole: Any = value
    for key in reversed(missing):
        whole = {key: whole}
    return _added(source, path[:depth], parent, whole)


def _replaced(node: Node, value: Any) -> tuple[Position, Position, str] | None:
    if not isinstance(node, ScalarNode):
        return None
    return _start(node), _end(node), yamltext.flow(value)


def _removed(source: Source, path: Path) -> tuple[Position, Position, str] | None:
    """A field of a block goes with its lines."""
    parent, node = source.node(path[:-1]), source.node(path)
    if not isinstance(parent, MappingNode) or parent.flow_style or node is None:
        return None
    if len(parent.value) == 1:
        return None
    line, _ = source.place(path)
    end, _ = source.end(path)
    if any(key.start_mark.line + 1 == line and _is_item(parent, key) for key, _ in parent.value):
        return None
    return (line, 1), (end + 1, 1), ""


def _is_item(parent: MappingNode, key: Node) -> bool:
    """Whether it is the first field of a list's item, on whose line the dash stands."""
    return key is parent.value[0][0] and parent.start_mark.line == key.start_mark.line


def _added(
    source: Source, path: Path, parent: Node, whole: dict[str, Any]
) -> tuple[Position, Position, str] | None:
    if isinstance(parent, ScalarNode):
        return _into_nothing(source, path, parent, whole)
    if not isinstance(parent, MappingNode):
        return None
    ((key, value),) = whole.items()
    if parent.flow_style:
        at = (parent.end_mark.line + 1, parent.end_mark.column)
        return at, at, f"{', ' if parent.value else ''}{key}: {yamltext.flow(value)}"
    indent = parent.value[0][0].start_mark.column
    at = source.end(path)
    return at, at, "\n" + _indented(whole, indent)


def _into_nothing(
    source: Source, path: Path, parent: ScalarNode, whole: dict[str, Any]
) -> tuple[Position, Position, str] | None:
    """Below a field that has no value as yet."""
    if parent.value or not path:
        return None
    _, column = source.place(path)
    at = _end(parent)
    return at, at, "\n" + _indented(whole, column + 1)


def _indented(whole: dict[str, Any], indent: int) -> str:
    text = yamltext.dump([whole]).removeprefix("---\n").rstrip("\n")
    return "\n".join(f"{' ' * indent}{line}" for line in text.splitlines())


def _start(node: Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _end(node: Node) -> Position:
    return node.end_mark.line + 1, node.end_mark.column + 1
