"""A document -> the objects that stand in it, each as a document of its own, at any depth.

They are mappings, or YAML in a text: of a ConfigMap, of a step that applies it, of a script. A text in a block has
the lines of its file, so that places and edits are exact; what stands in another text is placed at that text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from yaml.nodes import ScalarNode

from trainer_infra.api import yaml_source
from trainer_infra.api.finding import Path, path_text
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.review import documents, environments, source_of_built, template_text
from trainer_infra.review.documents import Document, Part, value_at
from trainer_infra.review.report import object_name
from trainer_infra.rules import inner_objects
from trainer_infra.rules.pods import KNOWN_KINDS
from trainer_infra.rules.value import UNKNOWN, is_list, is_mapping

T = TypeVar("T")
_ELSEWHERE: Final = frozenset(
    (
        *("ManifestWork", "ManifestWorkReplicaSet", "Work", "Policy", "ConfigurationPolicy"),
        *("ClusterProfile", "Profile", "PolicyGenerator", "ClusterResourceSet"),
    )
)
"""Kinds whose objects are made in other clusters: Open Cluster Management's, Karmada's, Sveltos'."""
# Texts, and not compiled at the start: few checks need them.
_OBJECT: Final = r"\bapiVersion[\"']?\s*:"
_KIND: Final = r"\bkind[\"']?\s*:"
_SAID: Final = r"(?m)^\s*(?:- +)?apiVersion: +\S"
_SAID_KIND: Final = r"(?m)^\s*(?:- +)?kind: +[A-Z]"
"""What a manifest says on lines of its own, and programs that make one do not."""
UNREAD: Final[JSONObject] = {"kind": ""}
"""Stands for what a text has that names objects and cannot be read as YAML."""
_MARKER: Final = r"---(?=\s|\Z)"
_HEREDOC: Final = r"<<-?\s*(?P<quote>[\"'\\]?)(?P<end>\w+)[\"']?"
_SHELL_VALUE: Final = r"\$(?:\{[^{}]*\}|\([^()]*\)|[A-Za-z_]\w*)"
_PATCHES: Final = ("patch", "patchesJson6902", "plaintext", "templatePatch")
"""Fields of a patch, or of its text, beside its `target`: of Argo CD, Flux, Kyverno and Karmada."""
_MOST: Final = 63
"""The last position in a list at which an operation of a JSON patch is looked at."""
_POD_PATCH: Final = "podSpecPatch"
"""The field of Argo Workflows with the text of a part of a PodSpec."""
_WORDS: Final = ("patch", "Patch", "plaintext")
"""Every field of a patch, or of its text, has one of them."""


@dataclass(frozen=True, slots=True)
class AllDocuments:
    """Documents, and behind them those of the objects that stand in theirs."""

    all: Sequence[Document]
    inner: Mapping[int, Sequence[int]]
    """Positions of what stands in one, by its own."""
    unread: Mapping[int, Sequence[str]]
    """Texts that name objects and cannot be read as YAML, by position of the outermost: what they stand in, and where."""

    def of_inner(self, of_own: Mapping[int, T]) -> dict[int, T]:
        """What is said of documents by position, said of what stands in them, too."""
        inner = {each: said for own, said in of_own.items() for each in self.inner.get(own, ())}
        return {**of_own, **inner}

    def with_inner(self, own: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Those at some positions with the whole objects in them, and the parts of objects in them.

        What stands in another comes first: of two runtimes of one name the last is meant.
        """
        inner = [index for each in own for index in self.inner.get(each, ())]
        objects = [each for each in inner if not self.all[each].is_part]
        return [*objects, *own], [each for each in inner if self.all[each].is_part]

    def made_together(self, own: Sequence[int]) -> Iterator[Sequence[int]]:
        """Of the whole objects in those at some positions first what is made where they are, then what elsewhere."""
        inner = [
            [each for each in self.inner.get(position, ()) if not self.all[each].is_part]
            for position in own
        ]
        yield [each for these in inner for each in these if not _is_elsewhere(self.all[each])]
        for these in inner:
            yield [each for each in these if _is_elsewhere(self.all[each])]


def with_inner_documents(given: Sequence[Document]) -> AllDocuments:
    """The documents, and the objects in theirs; without those that are one of the documents, too."""
    found = [*given]
    inner: dict[int, Sequence[int]] = {}
    unread: dict[int, Sequence[str]] = {}
    known: set[str] = set()
    for position, document in enumerate(given):
        own = tuple(inner_documents(document))
        if own and not known:
            known |= {source_of_built.canonical_json(each.value) for each in given}
        texts = [f"{each.file}: {inside_text(each)}" for each in own if each.value is UNREAD]
        unread |= {position: texts} if texts else {}
        said = ((each, source_of_built.canonical_json(each.value)) for each in own)
        new = [each for each, text in said if each.value is not UNREAD and text not in known]
        inner[position] = range(len(found), len(found) + len(new))
        found += new
    return AllDocuments(found, inner, unread)


def _is_elsewhere(document: Document) -> bool:
    """Whether it is made in another cluster than what it stands in."""
    outer = document.outer
    return outer is not None and (outer.value.get("kind") in _ELSEWHERE or _is_elsewhere(outer))


def inner_documents(outer: Document) -> Iterator[Document]:
    """The objects in a document's object, those in these behind each, and parts of objects in patches."""
    for path, each in inner_objects.parts_of(outer.value) if _may_have(outer) else ():
        for one in _found(outer, path, each):
            inner = one
            if one.value is not UNREAD:
                value = inner_objects.in_its_place(one.value, outer.value, is_part=one.is_part)
                inner = replace(one, value=value)
            if "kind" in inner.value:
                yield inner
            yield from inner_documents(inner)


def _may_have(outer: Document) -> bool:
    """Whether something may stand in its object: of most a look at their text tells that nothing does."""
    text = str(outer.value)
    own = "apiVersion" in outer.value
    return text.count("apiVersion") > own or any(word in text for word in _WORDS)


def inside_text(document: Document) -> str:
    """What the object of a document stands in, the outermost first, each with where; empty for nothing."""
    if document.outer is None:
        return ""
    above = inside_text(document.outer)
    _, *own = environments.object_key(document.outer.value)
    whose = object_name(*own) if own[0] else ""
    return ": ".join(filter(None, (above, whose, path_text(document.within))))


def _found(outer: Document, path: Path, each: Any) -> Iterator[Document]:
    """The objects that a text or a mapping of an object is; values of a chart may be one without a kind."""
    if isinstance(each, str):
        yield from _of_text(outer, path, each)
    elif outer.value.get("kind") not in KNOWN_KINDS:
        inside = inner_objects.object_in(each) if path else None
        if inside is not None:
            below, value = inside
            yield from _of_objects(_placed(outer, (*path, *below), value))
        for key in _PATCHES:
            if is_list(each.get(key)):
                yield from _parts(_placed(outer, (*path, key), {}), each[key], each)


def _of_objects(whole: Document) -> Iterator[Document]:
    """The object of a document; each item of a List, or of a text that is a list."""
    value: Any = whole.value
    listed = (
        ((index, *below), each)
        for index, one in enumerate(value if is_list(value) else ())
        for below, each in documents.objects_of(one)
    )
    for below, each in (*documents.objects_of(value), *listed):
        start = (*whole.start, *below) if whole.has_places else whole.start
        yield replace(whole, value=each, start=start, within=(*whole.within, *below))


def _placed(outer: Document, path: Path, value: JSONObject) -> Document:
    """A mapping of an object as a document, at what it was written as."""
    text, start = documents.written_place(outer, path)
    return replace(
        text,
        value=value,
        start=start,
        is_editable=outer.is_editable,
        parts=tuple(_parts_below(outer, path)),
        layers=outer.layers if text.file == outer.file or not outer.values else (outer.file,),
        folders=outer.folders,
        renderings=outer.renderings,
        drawn=frozenset(),
        has_places=text.has_places and (text is not outer or outer.has(path)),
        outer=outer,
        within=path,
        is_part=outer.is_part or inner_objects.is_partial(path),
    )


def _parts_below(outer: Document, path: Path) -> Iterator[Part]:
    """What other texts say of what stands at a path of an object."""
    for part in outer.parts:
        own = documents.path_in_part(outer, part, path)
        inside = value_at(part.value, own) if own is not None else None
        if part.path[: len(path)] == path:
            yield replace(part, path=part.path[len(path) :])
        elif own is not None and is_mapping(inside):
            yield Part(inside, replace(part.text, start=(*part.text.start, *own)))


def _of_text(outer: Document, path: Path, text: str) -> Iterator[Document]:
    """The objects in a text: in each of its YAML documents, or in what a script writes into a program."""
    is_patch = path[-1] in _PATCHES
    has_objects = "apiVersion" in text and re.search(_OBJECT, text) and re.search(_KIND, text)
    if not is_patch and path[-1] != _POD_PATCH and not has_objects:
        return
    for whole in yaml_of(_placed(outer, path, {}), text):
        value: Any = whole.value
        if value is UNREAD:
            yield whole
        elif path[-1] == _POD_PATCH and is_mapping(value):
            yield replace(whole, value={"kind": "Pod", "spec": value}, is_part=True)
        elif is_patch:
            yield from _parts(whole, value, value_at(outer.value, path[:-1]))
        elif objects := tuple(_of_objects(whole)):
            yield from objects
        elif is_mapping(value):
            # Values of a chart, for example: objects may stand below any field of them.
            yield replace(whole, value={k: v for k, v in value.items() if k != "kind"})


def _parts(whole: Document, value: Any, beside: JSONObject) -> Iterator[Document]:
    """The part of an object that a patch sets, or each operation of a JSON patch."""
    target = beside.get("target")
    kind, name = (value_at(target, each) for each in (("kind",), ("name",)))
    named = {"kind": kind if isinstance(kind, str) else "", "metadata": {"name": name}}
    if is_mapping(value):
        yield replace(whole, value={**named, **value}, is_part=True)
    for index, each in enumerate(value if is_list(value) else ()):
        start = (*whole.start, index) if whole.has_places else whole.start
        for part in json_patch(replace(whole, start=start), each):
            if part.value is not None:
                nested = {**named, **part.whole}
                yield replace(
                    part.text, value=nested, parts=(part,), is_part=True, is_editable=False
                )


def json_patch(text: Document, operation: Any) -> Iterator[Part]:
    """What an operation of a JSON patch, which stands in a text, makes of the object: None where it is removed."""
    where, word, other = (value_at(operation, (key,)) for key in ("path", "op", "operator"))
    word = other if word is None else word
    if word not in ("add", "replace", "remove") or not isinstance(where, str):
        return
    keys = (each.replace("~1", "/").replace("~0", "~") for each in where.split("/")[1:])
    path = tuple(
        min(int(each.replace("-", "0")), _MOST) if each == "-" or each.isdecimal() else each
        for each in keys
    )
    is_set = word != "remove"
    start = (*text.start, "value") if is_set and text.has_places else text.start
    yield Part(operation.get("value") if is_set else None, replace(text, start=start), path)


def yaml_of(place: Document, text: str) -> Iterator[Document]:
    """The YAML documents of a text that stands at a place; with the lines of the file where it is a block of it."""
    node = place.source.node(place.start) if place.source else None
    first = _first_line(node, place.lines, text) if isinstance(node, ScalarNode) else None
    if place.line == 1 and list(place.lines) == text.splitlines():
        # The text of a whole file.
        first = 0
    lines = text.rstrip("\n").split("\n")
    for begin, end, is_filled in _segments(lines):
        above = 0 if first is None else first + begin
        own = lines[begin:end] if first is None else place.lines[above : first + end]
        written = "\n".join(own)
        if is_filled:
            written = re.sub(_SHELL_VALUE, lambda each: template_text.BLANK * len(each[0]), written)
        try:
            found = _read(written, above, place.file)
        except InvalidInput:
            if re.search(_SAID, written) and re.search(_SAID_KIND, written):
                yield replace(place, value=UNREAD)
            continue
        for source in found:
            if first is None:
                yield replace(place, value=source.value, is_editable=False, has_places=False)
            else:
                yield replace(place, value=source.value, source=source, start=())


def _first_line(node: ScalarNode, lines: Sequence[str], text: str) -> int | None:
    """The line, from 0, of a file on which the text of a block begins; None where its lines are not the file's."""
    own = text.rstrip("\n").split("\n")
    first = node.start_mark.line + 1
    there = [each.strip() for each in lines[first : first + len(own)]]
    return first if node.style == "|" and there == [each.strip() for each in own] else None


def _segments(lines: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
    """Beginning and end of the YAML documents of a text; of a script, of what is between `<<EOF` and `EOF`.

    And whether a shell puts variables into it.
    """
    begin, waited, is_filled, is_script = 0, "", False, False
    for index, line in enumerate(lines):
        if waited and line.strip() == waited:
            yield begin, index, is_filled
            waited = ""
        elif re.match(_MARKER, line.strip() if waited else line) and (waited or not is_script):
            yield begin, index, is_filled
            begin = index + 1
        elif not waited and (found := re.search(_HEREDOC, line)):
            begin, waited, is_filled, is_script = index + 1, found["end"], not found["quote"], True
    if not is_script:
        yield begin, len(lines), False


def _read(text: str, above: int, file: str) -> tuple[Source, ...]:
    """The YAML of a text that stands below so many lines.

    Raises:
        InvalidInput: It is not YAML.
    """
    found = yaml_source.read_yaml("\n" * above + template_text.skeleton(text), file)

    def known(said: str, _is_program: bool) -> Any:
        return UNKNOWN if template_text.BLANK in said else said

    return tuple(replace(each, value=inner_objects.with_texts(each.value, known)) for each in found)
