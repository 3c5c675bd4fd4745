"""What a kustomization says of the objects that go through it -> parts of a built object, each where it is written.

Its patches, inline or in files, merged or as operations; its images, replicas, labels, annotations, names and
namespace; the literals and files of its generators. Source: kustomize's `Kustomization` type, v5.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from trainer_infra import json_values
from trainer_infra.api.finding import Path as FieldPath
from trainer_infra.json_values import JSONObject
from trainer_infra.review import documents, embedded
from trainer_infra.review.documents import Document, Part, items_at, value_at
from trainer_infra.rules.supply_chain import images

_MERGED: Final = "patchesStrategicMerge"
_PATCHES: Final = ("patches", "patchesJson6902")
_NAME: Final = ("metadata", "name")
_PAIRS: Final = {"commonLabels": "labels", "commonAnnotations": "annotations"}
_NAMESPACE: Final = ("metadata", "namespace")
_STEP: Final = re.compile(r"\[(?P<key>[^=\]]+)=(?P<value>[^\]]*)\]|(?P<name>(?:\\.|[^.\[\]])+)")
"""A step of the path of a replacement's field: a key, a position, `*`, or the item of a list that has a value."""
_CHANGED: Final = ("digest", "newTag", "newName")
"""Fields of an item of `images` that change an image, that which says most first."""
_LINE: Final = re.compile(r"\s*(?P<key>[A-Za-z_.][\w.-]*)=")
Reader = Callable[[Path], Sequence[Document]]
"""A file as the kustomization names it -> the YAML documents in it."""


@dataclass(frozen=True, slots=True)
class LayerPart:
    """What a kustomization says of some objects."""

    part: Part
    """The text is where it is written."""
    kind: str = ""
    """Kind of the objects; empty for any."""
    name: str = ""
    """Pattern of their names, at any time; empty for any."""
    is_merged: bool = False
    """Whether it is a patch that is merged: it then has the whole name."""
    adds: bool = False
    """Whether it ends in a list, to which something is added."""
    field: str = ""
    """The field of a replacement, which has its value from another object."""


def layer_parts(file: Document, read: Reader) -> Iterator[LayerPart]:
    """All that one kustomization says, in the order in which kustomize does it."""
    yield from _of_fields(file)
    for index, each in enumerate(items_at(file.value, _MERGED)):
        place = replace(file, start=(_MERGED, index), value={})
        yield from _merged(_texts(place, each, read, file), {})
    for field in _PATCHES:
        for index, each in enumerate(items_at(file.value, field)):
            path, text = (value_at(each, (key,)) for key in ("path", "patch"))
            key, said = ("path", path) if isinstance(path, str) else ("patch", text)
            place = replace(file, start=(field, index, key), value={})
            target = value_at(each, ("target",))
            yield from _merged(_texts(place, said, read, file), target if target else {})
    for index, each in enumerate(items_at(file.value, "images")):
        yield LayerPart(Part(each, replace(file, start=("images", index)), ("image",)))
    for index, each in enumerate(items_at(file.value, "replacements")):
        yield from _replacements(replace(file, value=each, start=("replacements", index)), read)


def _replacements(said: Document, read: Reader) -> Iterator[LayerPart]:
    path = value_at(said.value, ("path",))
    if isinstance(path, str):
        for each in read(Path(said.file).parent / path):
            yield from _replacements(each, read)
    for index, each in enumerate(said.value if isinstance(said.value, list) else ()):
        yield from _replacements(replace(said, value=each, start=(*said.start, index)), read)
    for index, each in enumerate(items_at(said.value, "targets")):
        kind, name = (str(value_at(each, ("select", key)) or "") for key in ("kind", "name"))
        for number, field in enumerate(items_at(each, "fieldPaths")):
            start = (*said.start, "targets", index, "fieldPaths", number)
            part = Part(None, replace(said, start=start))
            yield LayerPart(part, kind, name and re.escape(name), field=str(field))


def _texts(place: Document, said: Any, read: Reader, file: Document) -> Iterator[Document]:
    """The YAML documents of an inline patch, or of the file that is named there."""
    if not isinstance(said, str):
        return
    if "\n" in said or said.lstrip().startswith(("{", "[")):
        yield from (each for each in embedded.yaml_of(place, said) if each.value is not embedded.UNREAD)
    else:
        yield from read(Path(file.file).parent / said)


def _merged(texts: Iterator[Document], target: Any) -> Iterator[LayerPart]:
    kind, name = (str(value_at(target, (key,)) or "") for key in ("kind", "name"))
    for each in texts:
        if isinstance(each.value, Mapping):
            own = str(value_at(each.value, _NAME) or "")
            whose = (kind, name) if kind or name else (str(each.value.get("kind") or ""), own)
            yield LayerPart(Part(_without_identity(each.value), each), *whose, is_merged=not name)
        for index, one in enumerate(each.value if isinstance(each.value, list) else ()):
            adds = str(value_at(one, ("path",))).endswith("/-")
            start = (*each.start, index) if each.has_places else each.start
            for part in embedded.json_patch(replace(each, start=start), one):
                yield LayerPart(part, kind, name, adds=adds)


def _of_fields(file: Document) -> Iterator[LayerPart]:
    """What it sets in every object."""
    if isinstance(file.value.get("namespace"), str):
        text = replace(file, start=("namespace",))
        yield LayerPart(Part(file.value["namespace"], text, _NAMESPACE))
    for field, below in _PAIRS.items():
        yield from _pairs(file, (field,), below)
    for index, _ in enumerate(items_at(file.value, "labels")):
        yield from _pairs(file, ("labels", index, "pairs"), "labels")
    for index, each in enumerate(items_at(file.value, "replicas")):
        text = replace(file, start=("replicas", index, "count"))
        name = re.escape(str(value_at(each, ("name",))))
        yield LayerPart(Part(value_at(each, ("count",)), text, ("spec", "replicas")), name=name)


def _pairs(file: Document, start: FieldPath, field: str) -> Iterator[LayerPart]:
    pairs = value_at(file.value, start)
    for key, value in pairs.items() if isinstance(pairs, Mapping) else ():
        yield LayerPart(Part(value, replace(file, start=(*start, key)), ("metadata", field, key)))


def _without_identity(patch: JSONObject) -> JSONObject:
    """A patch without what names its object."""
    own = {key: each for key, each in patch.items() if key not in {"apiVersion", "kind"}}
    metadata = patch.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    others = {key: each for key, each in named.items() if key not in {"name", "namespace"}}
    return {**own, "metadata": others}


def parts_of_built(built: Document, said: LayerPart) -> Iterator[Part]:
    """What of it holds in a built object, as parts of that."""
    if said.part.path == ("image",):
        yield from _images(built, said.part)
    elif said.field and _is_meant(built, said):
        steps = list(_STEP.finditer(said.field))
        found = (each for each in _paths(built.value, steps) if not built.says(each))
        yield from (replace(said.part, value=value_at(built.value, each), path=each) for each in found)
    elif _is_meant(built, said):
        part = _in_list(built, said)
        if any(_holds(built, part, path, leaf) for path, leaf in json_values.json_leaves(part.value)):
            yield part


def _is_meant(built: Document, said: LayerPart) -> bool:
    """Whether it may be about an object: kustomize finds that by any name that it had on its way."""
    first, last = (str(value_at(each, _NAME) or "") for each in (built.written, built.value))
    is_kind = said.kind in ("", built.value.get("kind")) or re.fullmatch(said.kind, str(built.value.get("kind")))
    if not is_kind or not said.name:
        return bool(is_kind)
    if said.is_merged:
        return first in said.name in last
    try:
        return any(re.fullmatch(said.name, each) for each in (first, last)) or said.name in last
    except re.error:
        return False


def _paths(value: Any, steps: Sequence[re.Match[str]], path: FieldPath = ()) -> Iterator[FieldPath]:
    """The paths that the field of a replacement stands for."""
    if not steps:
        yield path
        return
    step, here = steps[0], value_at(value, path)
    name = (step["name"] or "").replace("\\.", ".")
    keys: Sequence[str | int] = (name,)
    if isinstance(here, list):
        is_all = name == "*"
        keys = [
            index
            for index, each in enumerate(here)
            if is_all or name == str(index) or (step["key"] and str(value_at(each, (step["key"],))) == step["value"])
        ]
    for key in keys:
        if value_at(here, (key,)) is not None:
            yield from _paths(value, steps[1:], (*path, key))


def _in_list(built: Document, said: LayerPart) -> Part:
    """The part where it stands in the built object: others may have been put into the list before it."""
    part = said.part
    if not part.path or not isinstance(part.path[-1], int):
        return part
    items, name = value_at(built.value, part.path[:-1]), value_at(part.value, ("name",))
    alike = [
        index
        for index, each in enumerate(items if isinstance(items, list) else ())
        if each == part.value or (name is not None and value_at(each, ("name",)) == name)
    ]
    is_there = part.path[-1] in alike and not said.adds
    return part if is_there or not alike else replace(part, path=(*part.path[:-1], alike[-1]))


def _holds(built: Document, part: Part, path: FieldPath, leaf: Any) -> bool:
    there = value_at(built.value, part.path)
    own = documents.path_in(there, part.value, path)
    return (value_at(there, own) if len(own) == len(path) else None) == leaf


def _images(built: Document, part: Part) -> Iterator[Part]:
    """Each image that an item of `images` changed."""
    said: Any = part.value
    named = str(value_at(said, ("newName",)) or value_at(said, ("name",)))
    for path, leaf in json_values.json_leaves(built.value):
        if path[-1:] != ("image",) or not isinstance(leaf, str) or built.says(path):
            continue
        if images.repository(leaf) == named:
            changed = [key for key in _CHANGED if str(value_at(said, (key,))) in leaf]
            yield Part(leaf, replace(part.text, start=(*part.text.start, *changed[:1])), path)


def generated_parts(built: Document, generator: Document) -> Iterator[Part]:
    """Each value of a generated ConfigMap or Secret that one of its generators makes."""
    name, whole = (str(value_at(each.value, _NAME)) for each in (generator, built))
    if generator.value.get("kind") != built.value.get("kind") or name not in whole:
        return
    item, text = generator.written, replace(generator, value=built.value, is_editable=False)
    for field in ("literals", "files", "envs"):
        for index, each in enumerate(items_at(item, field)):
            yield from _generated(replace(text, start=(*text.start, field, index)), field, each)
    yield from _generated(replace(text, start=(*text.start, "env")), "env", value_at(item, ("env",)))


def _generated(text: Document, field: str, said: Any) -> Iterator[Part]:
    """What one literal or one file of a generator makes; the text is where the kustomization names it."""
    if not isinstance(said, str):
        return
    key, has_key, value = said.partition("=")
    key = key if has_key else Path(said).name
    file = Path(os.path.normpath(Path(text.file).parent / (value if has_key else said)))
    lines = () if field == "literals" else _lines(file)
    if not lines:
        yield from _data(text, key)
        return
    place = Document(text.value, os.fspath(file), None, lines=lines, line=1, is_editable=False)
    if field == "files":
        yield from _data(place, key)
        return
    for number, line in enumerate(lines, 1):
        if found := _LINE.match(line):
            yield from _data(replace(place, line=number), found["key"])


def _lines(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return ()


def _data(text: Document, key: str) -> Iterator[Part]:
    for field in ("data", "stringData", "binaryData"):
        value = value_at(text.value, (field, key))
        if isinstance(value, str):
            yield Part(value, text, (field, key))
