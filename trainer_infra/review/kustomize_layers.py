"""What a kustomization says of the objects that go through it -> parts of a built object, each where it is written.

Its patches, inline or in files, merged or as operations; its images, replicas, labels, annotations, names and
namespace; the literals and files of its generators. Source: kustomize's `Kustomization` type, v5.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from trainer_infra import json_values
from trainer_infra.api.finding import Path as FieldPath
from trainer_infra.json_values import JSONObject
from trainer_infra.review import documents, inner_documents
from trainer_infra.review.documents import Document, Part, value_at
from trainer_infra.rules.supply_chain import images

_NAME: Final = ("metadata", "name")
_IMAGE: Final = ("image",)
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
    """All that one kustomization says, or a transformer in a file, in the order in which kustomize does it."""
    for field, make in _MAKERS.items():
        for each in _items(file, field):
            yield from make(each, read)
    # A transformer of patches has the fields of one, and one of namespaces has its own.
    yield from _of_patch(file, read)
    if value_at(file.value, ("kind",)) == "NamespaceTransformer":
        yield from _of_namespace(_below(file, *_NAMESPACE), read)


def _below(text: Document, *path: str | int) -> Document:
    """What stands at a path of a text."""
    start = (*text.start, *path) if text.has_places else text.start
    return replace(text, value=value_at(text.value, path), start=start)


def _items(text: Document, *path: str) -> Iterator[Document]:
    """The items of a list at a path of a text; of a field with one value that."""
    found = value_at(text.value, path)
    if isinstance(found, list):
        yield from (_below(text, *path, index) for index in range(len(found)))
    elif found is not None and path:
        yield _below(text, *path)


def _of_patch(item: Document, read: Reader) -> Iterator[LayerPart]:
    """A patch, or the text or the file of one."""
    target = value_at(item.value, ("target",)) or {}
    is_text = isinstance(item.value, str)
    for each in (item,) if is_text else (_below(item, key) for key in ("path", "patch", "jsonOp")):
        yield from _merged(_texts(each, read), target)


def _replacements(said: Document, read: Reader) -> Iterator[LayerPart]:
    path = value_at(said.value, ("path",))
    inner = read(Path(said.file).parent / path) if isinstance(path, str) else ()
    for each in (*inner, *_items(said)):
        yield from _replacements(each, read)
    for each in _items(said, "targets"):
        kind, name = (str(value_at(each.value, ("select", key)) or "") for key in ("kind", "name"))
        for field in _items(each, "fieldPaths"):
            part = Part(None, field)
            yield LayerPart(part, kind, name and re.escape(name), field=str(field.value))


def _texts(place: Document, read: Reader) -> Iterator[Document]:
    """The YAML documents of an inline text, or of the file that is named there."""
    said: Any = place.value
    if not isinstance(said, str):
        return
    if "\n" in said or said.lstrip().startswith(("{", "[")):
        found = inner_documents.yaml_of(replace(place, value={}), said)
        yield from (each for each in found if each.value is not inner_documents.UNREAD)
    else:
        yield from read(Path(place.file).parent / said)


def _merged(texts: Iterator[Document], target: Any) -> Iterator[LayerPart]:
    kind, name = (str(value_at(target, (key,)) or "") for key in ("kind", "name"))
    for each in texts:
        if isinstance(each.value, Mapping):
            own = str(value_at(each.value, _NAME) or "")
            whose = (kind, name) if kind or name else (str(each.value.get("kind") or ""), own)
            yield LayerPart(Part(_without_identity(each.value), each), *whose, is_merged=not name)
        for one in _items(each):
            adds = str(value_at(one.value, ("path",))).endswith("/-")
            for part in inner_documents.json_patch(one, one.value):
                yield LayerPart(part, kind, name, adds=adds)


def _of_namespace(text: Document, _read: Reader) -> Iterator[LayerPart]:
    yield LayerPart(Part(text.value, text, _NAMESPACE))


def _of_replicas(item: Document, _read: Reader) -> Iterator[LayerPart]:
    name, count = re.escape(str(value_at(item.value, ("name",)))), _below(item, "count")
    yield LayerPart(Part(count.value, count, ("spec", "replicas")), name=name)


def _of_pairs(field: str, item: Document, _read: Reader) -> Iterator[LayerPart]:
    pairs = _below(item, "pairs") if value_at(item.value, ("pairs",)) else item
    for key in pairs.value if isinstance(pairs.value, Mapping) else ():
        each = _below(pairs, key)
        yield LayerPart(Part(each.value, each, ("metadata", field, key)))


def _of_image(item: Document, _read: Reader) -> Iterator[LayerPart]:
    yield LayerPart(Part(item.value, item, _IMAGE))


def _of_inline(item: Document, read: Reader) -> Iterator[LayerPart]:
    """Transformers that stand in the kustomization; those in files are layers of their own."""
    for text in _texts(item, lambda _: ()):
        yield from layer_parts(text, read)


_MAKERS: Final[Mapping[str, Callable[[Document, Reader], Iterator[LayerPart]]]] = {
    "namespace": _of_namespace,
    **dict.fromkeys(("commonLabels", "labels"), partial(_of_pairs, "labels")),
    **dict.fromkeys(("commonAnnotations", "annotations"), partial(_of_pairs, "annotations")),
    **dict.fromkeys(("replicas", "replica"), _of_replicas),
    **dict.fromkeys(("patchesStrategicMerge", "patches", "patchesJson6902", "paths"), _of_patch),
    **dict.fromkeys(("images", "imageTag"), _of_image),
    "replacements": _replacements,
    "transformers": _of_inline,
}
"""Fields of a kustomization and of transformers that change objects, in the order in which kustomize does it."""


def _without_identity(patch: JSONObject) -> JSONObject:
    """A patch without what names its object."""
    own = {key: each for key, each in patch.items() if key not in {"apiVersion", "kind"}}
    metadata = patch.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    others = {key: each for key, each in named.items() if key not in {"name", "namespace"}}
    return {**own, "metadata": others}


def parts_of_built(built: Document, said: LayerPart) -> Iterator[Part]:
    """What of it holds in a built object, as parts of that."""
    if said.part.path == _IMAGE:
        yield from _images(built, said.part)
    elif said.field and _is_meant(built, said):
        steps = list(_STEP.finditer(said.field))
        found = (each for each in _paths(built.value, steps) if not built.says(each))
        yield from (
            replace(said.part, value=value_at(built.value, each), path=each) for each in found
        )
    elif _is_meant(built, said):
        part = _in_list(built, said)
        leaves = json_values.json_leaves(part.value)
        if any(_holds(built, part, path, leaf) for path, leaf in leaves):
            yield part


def _is_meant(built: Document, said: LayerPart) -> bool:
    """Whether it may be about an object: kustomize finds that by any name that it had on its way."""
    first, last = (str(value_at(each, _NAME) or "") for each in (built.written, built.value))
    kind = str(built.value.get("kind"))
    try:
        is_kind = said.kind in ("", kind) or re.fullmatch(said.kind, kind) is not None
        is_name = any(re.fullmatch(said.name, each) for each in (first, last))
    except re.error:
        # Go's patterns have more than Python's.
        return False
    is_name = first in said.name in last if said.is_merged else is_name or said.name in last
    return is_kind and (is_name or not said.name)


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
            if is_all
            or name == str(index)
            or (step["key"] and str(value_at(each, (step["key"],))) == step["value"])
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
    return bool((value_at(there, own) if len(own) == len(path) else None) == leaf)


def _images(built: Document, part: Part) -> Iterator[Part]:
    """Each image that an item of `images` changed."""
    said: Any = part.value
    named = str(value_at(said, ("newName",)) or value_at(said, ("name",)))
    for path, leaf in json_values.json_leaves(built.value):
        if path[-1:] != _IMAGE or not isinstance(leaf, str) or built.says(path):
            continue
        if images.repository(leaf) == named:
            changed = [key for key in _CHANGED if str(value_at(said, (key,))) in leaf]
            yield Part(leaf, _below(part.text, *changed[:1]), path)


def generated_parts(built: Document, generator: Document) -> Iterator[Part]:
    """Each value of a generated ConfigMap or Secret that one of its generators makes."""
    name, whole = (str(value_at(each.value, _NAME)) for each in (generator, built))
    if generator.value.get("kind") != built.value.get("kind") or name not in whole:
        return
    text = replace(generator, value=generator.written, is_editable=False)
    for field in ("literals", "files", "envs", "env"):
        for each in _items(text, field):
            yield from _generated(built, each, field)


def _generated(built: Document, text: Document, field: str) -> Iterator[Part]:
    """What one literal or one file of a generator makes; the text is where the kustomization names it."""
    said: Any = text.value
    if not isinstance(said, str):
        return
    key, has_key, value = said.partition("=")
    key, name = (key, value) if has_key else (Path(said).name, said)
    file = Path(os.path.normpath(Path(text.file).parent / name))
    lines = () if field == "literals" else _lines(file)
    place = Document(built.value, os.fspath(file), None, lines=lines, line=1, is_editable=False)
    if not lines or field == "files":
        yield from _data(built, key, place if lines else text)
        return
    for number, line in enumerate(lines, 1):
        if found := _LINE.match(line):
            yield from _data(built, found["key"], replace(place, line=number))


def _lines(file: Path) -> tuple[str, ...]:
    try:
        return tuple(file.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return ()


def _data(built: Document, key: str, text: Document) -> Iterator[Part]:
    for field in ("data", "stringData", "binaryData"):
        value = value_at(built.value, (field, key))
        if isinstance(value, str):
            yield Part(value, text, (field, key))
