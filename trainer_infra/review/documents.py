"""Text -> the Kubernetes objects in it, each with the places of its fields.

Documents that are no Kubernetes object (values files, CI configuration) are passed over: a
repository is full of them.
"""

import json
import os
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra.api import yaml_source
from trainer_infra.api.finding import FieldFinding, Path
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.review import object_kinds, template_text

BOM: Final = "\ufeff"
"""A mark that some editors put before a text; no reader counts it."""
_LIST: Final = "List"


@dataclass(frozen=True, slots=True)
class Part:
    """What another text says of a built object: a patch of an overlay, another branch of a template."""

    value: Any
    """Fields of the object, or what stands at a path of it."""
    text: "Document"
    """Where they are written."""
    path: Path = ()
    """Where in the object they stand."""

    @property
    def whole(self) -> JSONObject:
        """The object as far as this text says it."""
        found: Any = self.value
        for key in reversed(self.path):
            found = [*({} for _ in range(key)), found] if isinstance(key, int) else {key: found}
        return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file."""

    value: JSONObject
    """As kubectl's reader takes it."""
    file: str
    """As reports name it."""
    source: Source | None
    """The YAML document that it is in, or that a tool built it from; None where there is none."""
    start: Path = ()
    """Where it is in that document: an item of a List."""
    lines: tuple[str, ...] = ()
    """The file's text."""
    line: int = 0
    """Where it is in a text that is not YAML, from 1; 0 elsewhere."""
    is_editable: bool = True
    """Whether edits can be made in its file: no stdin, and nothing that a tool built."""
    parts: tuple[Part, ...] = ()
    """What other texts say of it, that which holds first: the outermost overlay's."""
    layers: tuple[str, ...] = ()
    """Files that changed what is written: kustomizations and their patches, in the order of their work."""
    folders: tuple[str, ...] = ()
    """Overlays and charts that it was built in; none where it is deployed as it is written."""
    renderings: tuple[str, ...] = ()
    """Of its chart, those that have it as it is; none where the chart is rendered once."""
    drawn: frozenset[Path] = frozenset()
    """Where it has values that a tool draws at random: they stand in no file."""
    faults: tuple[FieldFinding, ...] = ()
    """What is wrong with the YAML that a tool wrote of it."""
    outer: "Document | None" = None
    """The object that it stands in; None for one of its own."""
    within: Path = ()
    """Where it stands in that."""
    is_part: bool = False
    """Whether it is a patch that stands there, and no whole object."""
    has_places: bool = True
    """Whether its fields have places: not in a text that is written on one line, or folded."""
    values: tuple["Document", ...] = ()
    """Where the values begin that its template takes, in each file of them, the strongest first."""

    @property
    def deployed_from(self) -> tuple[str, ...]:
        """The folders that it is deployed from: that of its file where no tool built it."""
        return self.folders or (os.path.dirname(self.file) or os.curdir,)  # noqa: PTH120  of every finding

    @property
    def written(self) -> Any:
        """What stands in the file: the value itself, or what a tool built it from; None for nothing."""
        return value_at(self.source.value, self.start) if self.source else None

    def at(self, path: Path) -> Path:
        """The path in the source's document of what stands at a path, or is nearest above it."""
        if not self.has_places:
            return self.start
        here = self.written
        if here is self.value:
            return (*self.start, *path)
        return (*self.start, *path_in(here, self.value, path))

    def has(self, path: Path) -> bool:
        """Whether something stands at a path in its own text, whatever it is."""
        return len(self.at(path)) == len(self.start) + len(path)

    def says(self, path: Path) -> bool:
        """Whether its own text has at a path what the object has, also where that is nothing."""
        own = value_at(self.source.value, self.at(path)) if self.source and self.has(path) else None
        return bool(own == value_at(self.value, path))

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column, from 1, of what stands at a path in the source's document."""
        return self.source.place(path) if self.source else (self.line, min(self.line, 1))

    def end(self, path: Path) -> tuple[int, int]:
        """Line and column behind it; those of a text block are behind its last line."""
        if self.source is None:
            return (
                (self.line, len(self.lines[self.line - 1]) + 1)
                if self.lines and self.line
                else (0, 0)
            )
        line, _ = start = self.place(path)
        last, column = end = self.source.end(path)
        if end < start:
            # An alias: what it stands for is somewhere above.
            return line, len(self.lines[line - 1]) + 1
        if column > 1 or last == line:
            return end
        last = max(line, last - 1)
        while last > line and not self.lines[last - 1].strip():
            last -= 1
        return last, len(self.lines[last - 1]) + 1

    def _has_own_text(self) -> bool:
        """Whether its text is written for it alone, and no tool has changed it."""
        if self.outer is None:
            return self.written is self.value
        return self.source is not self.outer.source

    def findings(self) -> Iterator[FieldFinding]:
        """What is wrong with its YAML, with paths in the object."""
        yield from self.faults
        if self.source is None or not self._has_own_text():
            return
        for each in self.source.findings:
            if each.path[: len(self.start)] == self.start:
                path = each.path[len(self.start) :]
                yield FieldFinding(path, each.what, each.got, each.fix)


def read_documents(text: str, file: str) -> tuple[Document, ...]:
    """The objects of a text; `List` objects are unfolded.

    Raises:
        InvalidInput: It is not YAML; one problem, with line and column.
    """
    text = text.removeprefix(BOM)
    lines = tuple(text.splitlines())
    found = yaml_source.read_yaml(text, file)
    return tuple(
        Document(value, file, source, path, lines)
        for source in (replace(each, value=_with_kinds(each.value)) for each in found)
        for path, value in objects_of(source.value)
    )


def yaml_of_file(file: str) -> tuple[Document, ...]:
    """The YAML documents of a file, be they objects or not; none where it cannot be read."""
    try:
        text = pathlib.Path(file).read_text(encoding="utf-8").removeprefix(BOM)
        found = yaml_source.read_yaml(text, file)
    except (OSError, ValueError, InvalidInput):
        return ()
    lines = tuple(text.splitlines())
    return tuple(Document(each.value, file, each, (), lines) for each in found)


def _with_kinds(value: Any) -> Any:
    """The value; items of a list of one kind, such as a TrainJobList, have that kind.

    The API server writes neither kind nor apiVersion into them (apimachinery, `meta/v1` lists).
    """
    if not _is_list(value):
        return value
    shared = {"apiVersion": value.get("apiVersion"), "kind": value["kind"].removesuffix(_LIST)}
    given = {key: each for key, each in shared.items() if each and shared["kind"]}
    items = [
        _with_kinds({**given, **each} if isinstance(each, Mapping) else each)
        for each in value["items"]
    ]
    return {**value, "items": items}


def objects_of(value: Any) -> Iterator[tuple[Path, JSONObject]]:
    """The object that a value is, or those in a list of them, each with its path."""
    if not isinstance(value, Mapping):
        return
    if _is_list(value):
        for position, item in enumerate(value["items"]):
            yield from ((("items", position, *path), each) for path, each in objects_of(item))
        return
    is_object = all(isinstance(value.get(key), str) for key in ("apiVersion", "kind"))
    if is_object or object_kinds.is_known_object(value):
        yield (), value


def _is_list(value: Any) -> bool:
    """Whether a document is a `List`, or one of a kind."""
    kind, items = value_at(value, ("kind",)), value_at(value, ("items",))
    return isinstance(kind, str) and kind.endswith(_LIST) and isinstance(items, list)


def written_place(document: Document, path: Path) -> tuple[Document, Path]:
    """The document with the text, and the path there of what stands at a path or is nearest above.

    What a template takes from values as it is stands in their file. The file of an overlay's patch is the place of what it sets, and the base that of all else. Of several
    patches that set a value, the outermost is the place.
    """
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
    return _place_in_values(document, path) or (document, document.at(path))


def _place_in_values(document: Document, path: Path) -> tuple[Document, Path] | None:
    """Where a value stands that the template takes on the line of what is at a path, or is nearest above it."""
    if not document.values:
        return None
    own = document.at(path)
    line, _ = document.place(own)
    last, _ = document.end(own)
    named = [*template_text.value_paths(document.lines[line - 1 : max(line, last)])]
    # A mapping that is written as YAML begins behind what the template says itself.
    below = [*template_text.value_paths(document.lines[line - 1 : max(line, last) + 2])]
    for length in range(len(path), len(own) - len(document.start) - 1, -1):
        value = value_at(document.value, path[:length])
        is_whole = isinstance(value, Mapping | list)
        for each in (*named, *(below if is_whole else ())):
            for text in document.values if value is not None else ():
                if _same(value_at(text.written, each), value):
                    return text, (*text.start, *each, *path[length:])
    return None


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same, or are written alike: a template may put quotes around one."""
    if isinstance(one, Mapping | list) or isinstance(other, Mapping | list) or one is None:
        return bool(one == other)
    return json.dumps(one, default=str).strip('"') == json.dumps(other, default=str).strip('"')


def path_in(here: Any, there: Any, path: Path) -> Path:
    """The path in one value of what stands at a path of another, or is nearest above it."""
    found: Path = ()
    for key in path:
        own = _position(here, there, key) if isinstance(key, int) else key
        here, there = value_at(here, (own,)), value_at(there, (key,))
        if here is None:
            break
        found = (*found, own)
    return found


def items_at(value: Any, field: str) -> Sequence[Any]:
    """The items of a field that is a list; none where it is not."""
    items = value_at(value, (field,))
    return items if isinstance(items, list) else ()


def value_at(value: Any, path: Path) -> Any:
    """What stands at a path; None where nothing does."""
    for key in path:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and 0 <= key < len(value) else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _position(items: Any, others: Any, position: int) -> int:
    """Where a list has the item of another one: of the same name, else the same; -1 for nowhere."""
    like = value_at(others, (position,))
    if value_at(items, (position,)) == like is not None:
        return position
    name = value_at(like, ("name",))
    for index, each in enumerate(items if isinstance(items, list) else ()):
        if each == like or (name is not None and value_at(each, ("name",)) == name):
            return index
    is_like = isinstance(items, list) and isinstance(others, list) and len(items) == len(others)
    return position if is_like and name is None else -1


def path_in_part(document: Document, part: Part, path: Path) -> Path | None:
    """The path in a part's value of what stands at a path of the object; None where it says nothing of it."""
    below = path[len(part.path) :]
    if path[: len(part.path)] != part.path:
        return None
    own = path_in(part.value, value_at(document.value, part.path), below)
    parent = value_at(part.value, own)
    if len(own) + 1 == len(below) and isinstance(parent, Mapping) and path[-1] in parent:
        own = (*own, path[-1])
    return own if len(own) == len(below) else None


def _places(document: Document, path: Path) -> Iterator[tuple[Any, tuple[Document, Path]]]:
    """What parts say of a path, each with its place; nothing where a part takes it away."""
    for part in document.parts:
        own = path_in_part(document, part, path)
        if own is not None:
            yield value_at(part.value, own), (part.text, (*part.text.start, *own))
