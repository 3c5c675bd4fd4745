"""YAML in: the text of documents as JSON values that still know their lines.

Reads as kubectl does (yaml_scalar.py), JSON included, but refuses what a reader would pass over in
silence: a key written twice, a key that is not a string.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

import yaml
from typing_extensions import override
from yaml.composer import Composer, ComposerError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trainer_infra.api import yaml_scalar
from trainer_infra.api.finding import QUOTE, FieldFinding, Path
from trainer_infra.errors import InvalidInput, Problem

_PLAIN: Final = "plain"
_MERGE: Final = "<<"
_STRING: Final = "tag:yaml.org,2002:str"
_UNTAGGED: Final[dict[type[Node], str]] = {
    ScalarNode: _STRING,
    SequenceNode: "tag:yaml.org,2002:seq",
    MappingNode: "tag:yaml.org,2002:map",
}
_TYPED: Final = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))
_SURROGATES: Final = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")

_BLANK: Final = re.compile(r"\s*")
_HEAD: Final = re.compile(r"\s*(---[ \t]*\n\s*)?")
_MARKER: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
"""Begins a document, wherever it stands at the beginning of a line."""
NO_YAML: Final = "is not YAML"
"""Begins what is said of a text that has another syntax."""
NO_KEY: Final = "?"
"""Stands in a path for a key that is an object or a list."""
_ANCHOR_TWICE: Final = "found duplicate anchor"
MOST_VALUES: Final = 1_000_000
"""Values of a text with aliases: a few hundred characters can stand for billions."""

Fields = dict[str | int, tuple[Node, Node]]
"""A mapping's key and value nodes by the key's value; merged-in ones are among them."""


@dataclass(frozen=True, slots=True)
class Source:
    """One document of a text."""

    value: Any
    """Its JSON value."""
    findings: tuple[FieldFinding, ...]
    """What is wrong with its YAML."""
    file: str
    """Name of the text."""
    root: Node
    """The document's node."""
    fields: dict[int, Fields] = field(repr=False)
    """The fields of each mapping node, by the node's `id`."""

    def line_of(self, path: Path) -> int:
        """Line on which the value at a path begins, from 1."""
        line: int = self._way(path)[-1][1].start_mark.line
        return line + 1

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column, from 1, of what stands at a path, or of what is nearest above it."""
        mark = self._way(path)[-1][0].start_mark
        return mark.line + 1, mark.column + 1

    def end(self, path: Path) -> tuple[int, int]:
        """Line and column, from 1, behind the value at a path, or behind what is nearest above it.

        A block ends where its last line does, not where the next one begins.
        """
        node = self._way(path)[-1][1]
        while isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        return node.end_mark.line + 1, node.end_mark.column + 1

    def problem(self, finding: FieldFinding) -> Problem:
        """What is wrong, with line and column; `quote it` shows how."""
        line, column = self.place(finding.path)
        if finding.fix == QUOTE:
            finding = replace(finding, fix=f'{QUOTE}: "{self.written(finding.path)}"')
        return finding.problem(f"{self.file}:{line}:{column}")

    def node(self, path: Path) -> Node | None:
        """The node of the value at a path; None where nothing stands."""
        way = self._way(path)
        return way[-1][1] if len(way) == len(path) + 1 else None

    def is_shared(self, path: Path) -> bool:
        """Whether what stands at a path, or above it, is an alias: written elsewhere, used twice."""
        way = self._way(path)
        return any(_begins(below) < _begins(above) for (_, above), (_, below) in pairwise(way))

    def _way(self, path: Path) -> list[tuple[Node, Node]]:
        """From the root down to the value at a path, or to what is nearest above it.

        The node to point at (a field's key, a list's item), and the node of the value.
        """
        found = [(self.root, self.root)]
        for part in path:
            node = found[-1][1]
            if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
                found.append((node.value[part], node.value[part]))
            elif part in self.fields.get(id(node), {}):
                found.append(self.fields[id(node)][part])
            else:
                break
        return found

    def written(self, path: Path) -> str:
        """The text of the scalar at a path, as it stands in the file."""
        text: str = self._way(path)[-1][1].value
        return text


def _begins(node: Node) -> tuple[int, int]:
    return node.start_mark.line, node.start_mark.column


def read_yaml(text: str, file: str) -> tuple[Source, ...]:
    """The documents of a text, empty ones left out.

    Raises:
        InvalidInput: when the text is not YAML; one problem, with line and column.
    """
    try:
        nodes = [node for node in _nodes(text) if not _is_empty(node)]
        if "*" in text and sum(_weight(node, {}) for node in nodes) > MOST_VALUES:
            what = f"stands for more than {MOST_VALUES:,} values by its aliases"
            raise InvalidInput([Problem("", what, where=file)])
        return tuple(_Build().source(node, file) for node in nodes)
    except yaml.MarkedYAMLError as error:
        raise InvalidInput([_syntax(error, file)]) from None
    except RecursionError:
        raise InvalidInput([Problem("", "is nested too deeply to be read", where=file)]) from None
    except yaml.reader.ReaderError as error:
        raise InvalidInput([_unreadable(error, text, file)]) from None


def documents_apart(text: str) -> Iterator[str]:
    """Each document of a text by itself, behind as many empty lines as stand above it."""
    begins = [0, *(each.start() for each in _MARKER.finditer(text)), len(text)]
    for start, end in pairwise(begins):
        yield "\n" * text.count("\n", 0, start) + text[start:end]


def json_documents(text: str) -> Iterator[str]:
    """JSON documents of a text that stand one after another, as kubectl reads them; then what is not JSON.

    Each is behind as many lines and columns as stand above it.
    """
    decoder, start = json.JSONDecoder(), _end_of(_HEAD, text)
    lines = above = 0
    while text.startswith("{", start):
        try:
            _, end = decoder.raw_decode(text, start)
        except ValueError:
            break
        lines, above = lines + text.count("\n", above, start), start
        column = start - text.rfind("\n", 0, start) - 1
        yield "\n" * lines + " " * column + text[start:end]
        start = _end_of(_BLANK, text, end)
    if start < len(text):
        yield "\n" * text.count("\n", 0, start) + text[start:]


def _end_of(pattern: re.Pattern[str], text: str, start: int = 0) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _weight(node: Node, known: dict[int, int]) -> int:
    """How many values a node stands for, aliases written out."""
    if id(node) not in known:
        known[id(node)] = 1  # of one that stands inside itself
        below: Iterable[Node] = ()
        if isinstance(node, MappingNode):
            below = (each for _, each in node.value)
        elif isinstance(node, SequenceNode):
            below = node.value
        known[id(node)] = 1 + sum(_weight(each, known) for each in below)
    return known[id(node)]


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = f"{file}:{mark.line + 1}:{mark.column + 1}" if mark else file
    what = ", ".join(part for part in (error.context, error.problem) if part)
    return Problem("", f"{NO_YAML}: {what}", where=place)


def _unreadable(error: yaml.reader.ReaderError, text: str, file: str) -> Problem:
    # libyaml counts bytes.
    before = text.encode()[: error.position].decode(errors="ignore").split("\n")
    place = f"{file}:{len(before)}:{len(before[-1]) + 1}"
    return Problem("", f"{NO_YAML}: {error.reason}", chr(error.character), where=place)


class _Composer(yaml.CBaseLoader):
    """libyaml's parser; marks plain scalars instead of resolving them by YAML 1.1."""

    @override
    def resolve(self, kind: type[Node], value: object, implicit: tuple[bool, bool]) -> str:
        if kind is ScalarNode and implicit[0]:
            return _PLAIN
        return _UNTAGGED[kind]


class _AnchorsAgain(Composer, _Composer):
    """The same, ten times as slow, for an anchor that stands twice: its aliases mean the nearest above."""

    def __init__(self, text: str) -> None:
        _Composer.__init__(self, text)
        Composer.__init__(self)

    @override
    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.NodeEvent) and not isinstance(event, yaml.AliasEvent):
            self.anchors.pop(event.anchor, None)
        return super().compose_node(parent, index)


def _nodes(text: str) -> list[Node]:
    if text.lstrip().startswith(("{", "[")):
        # JSON writes characters beyond the 16-bit ones as two escapes, which YAML does not know.
        text = _SURROGATES.sub(_one_escape, text)
    try:
        return list(yaml.compose_all(text, Loader=_Composer))
    except ComposerError as error:
        if not (error.context or "").startswith(_ANCHOR_TWICE):
            raise
        return list(yaml.compose_all(text, Loader=_AnchorsAgain))
    except yaml.MarkedYAMLError:
        apart = [*json_documents(text)] if "{" in text else []
        if len(apart) < 2:  # noqa: PLR2004  one alone is what could not be read
            raise
        return [node for part in apart for node in _nodes(part)]


def _one_escape(pair: re.Match[str]) -> str:
    high, low = (int(part, 16) for part in pair.groups())
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def _is_plain(node: Node) -> bool:
    """Whether it is a scalar with nothing to find wrong, as most nodes are."""
    return bool(node.tag == _PLAIN)


def _scalar(node: Node) -> yaml_scalar.Scalar:
    return yaml_scalar.as_kubectl(node.value)


def _is_empty(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == _PLAIN and node.value == ""


class _Build:
    """Makes one document's value; shared nodes (aliases) are made once."""

    def __init__(self) -> None:
        self.findings: list[FieldFinding] = []
        self.fields: dict[int, Fields] = {}
        self.made: dict[int, Any] = {}
        self.open: set[int] = set()

    def source(self, node: Node, file: str) -> Source:
        value = self.value(node, ())
        return Source(value, tuple(self.findings), file, node, self.fields)

    def value(self, node: Node, path: Path) -> Any:
        if id(node) in self.open:
            self._add(path, "an alias stands inside what it refers to")
            return None
        if id(node) not in self.made:
            self.open.add(id(node))
            self.made[id(node)] = self._made(node, path)
            self.open.discard(id(node))
        return self.made[id(node)]

    def _made(self, node: Node, path: Path) -> Any:
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [
                _scalar(item) if _is_plain(item) else self.value(item, (*path, index))
                for index, item in enumerate(node.value)
            ]
        if _is_plain(node) or node.tag in _TYPED:
            return _scalar(node)
        if node.tag != _STRING:
            self._add(path, f"the tag {node.tag} is unknown", fix="leave it out")
        return node.value

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        made: dict[str, Any] = {}
        fields = self.fields[id(node)] = {}
        merges = []
        for key_node, value_node in node.value:
            if key_node.tag == _PLAIN and key_node.value == _MERGE:
                merges.append(value_node)
                continue
            key = self._key(key_node, path)
            if key in made:
                self._add((*path, key), "is written twice", fix="keep one of them")
            fields[key] = (key_node, value_node)
            made[key] = (
                _scalar(value_node)
                if _is_plain(value_node)
                else self.value(value_node, (*path, key))
            )
        for merge in merges:
            self._merge(merge, made, fields, path)
        return made

    def _key(self, node: Node, path: Path) -> str:
        what = "a key must be a string"
        if not isinstance(node, ScalarNode):
            self._add((*path, NO_KEY), what)
            return NO_KEY
        text: str = node.value
        if _is_plain(node) and isinstance(_scalar(node), str):
            return text
        if not isinstance(self.value(node, path), str):
            self._add((*path, text), what, fix=f'{QUOTE}: "{text}"')
        return text

    def _merge(self, node: Node, made: dict[str, Any], fields: Fields, path: Path) -> None:
        """Take over the fields of other objects that this one does not have itself."""
        for other in node.value if isinstance(node, SequenceNode) else [node]:
            content = self.value(other, path)
            if not isinstance(content, dict):
                self._add((*path, _MERGE), "must be an object or a list of objects", content)
                continue
            for key, item in content.items():
                made.setdefault(key, item)
                fields.setdefault(key, self.fields[id(other)][key])

    def _add(self, path: Path, what: str, got: object = None, fix: str = "") -> None:
        self.findings.append(FieldFinding(path, what, got, fix))
