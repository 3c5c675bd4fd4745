"""A built object and the kustomizations that it went through -> its parts that they set.

Kustomize says which layers an object passed, and not what each of them did: that is told from what
a layer says of objects of this kind and name, and from the values.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject
from trainer_infra.review import replacement_fields
from trainer_infra.review.documents import Document, Part, items_at, value_at
from trainer_infra.review.kustomization_file import KustomizationFile
from trainer_infra.review.patch_target import ObjectNames, is_selected, is_target

_NAME: Final[Path] = ("metadata", "name")
_GENERATORS: Final = {"ConfigMap": "configMapGenerator", "Secret": "secretGenerator"}
_SCALED: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
"""Kinds that `replicas` is for."""
_SETTING: Final = frozenset({"add", "replace"})
_LABELS: Final[tuple[str, ...]] = ("labels", "matchLabels", "selector")
_FURTHER: Final = ("includeSelectors", "includeTemplates", "fields")
"""With one of these, an entry of `labels` is for more than the object's own metadata."""
_COMMON: Final[Mapping[str, tuple[str, ...]]] = {
    "commonLabels": _LABELS,
    "commonAnnotations": ("annotations",),
}
_OPTIONS: Final = ("labels", "annotations")
_IMAGE: Final = re.compile(r"(?P<name>.+?)(?::(?P<tag>[^:/@]*))?(?:@(?P<digest>.*))?")


def overlay_parts(built: Document, layers: Sequence[KustomizationFile]) -> tuple[Part, ...]:
    """Parts of an object that layers set, those of the outermost first.

    Args:
        built: The object, with what it was built from.
        layers: What it went through, the outermost first.
    """
    names = ObjectNames.of(built, [each.text.value for each in layers])
    return tuple(part for each in layers for part in _parts(built, each, names))


def generator_document(
    built: Document, layers: Sequence[KustomizationFile], origin: KustomizationFile
) -> Document | None:
    """An object that a generator made, placed there; None where the layer has none of that name.

    Args:
        built: The object.
        layers: What it went through, the outermost first.
        origin: What it is from.
    """
    names = ObjectNames.of(built, [each.text.value for each in (*layers, origin)])
    for start, _ in _generators(built.value, origin, names):
        text = origin.text
        return replace(
            built,
            file=text.file,
            source=text.source,
            start=start,
            lines=text.lines,
            is_editable=False,
        )
    return None


def _parts(built: Document, layer: KustomizationFile, names: ObjectNames) -> Iterator[Part]:
    """Those of one layer; what kustomize does last comes first."""
    fields, value = layer.text.value, built.value
    yield from _replaced(value, layer, names)
    yield from _images(built, layer)
    yield from _replicas(value, layer, names)
    yield from _labels(value, layer)
    yield from _name(built, layer, names)
    if fields.get("namespace"):
        yield Part(("metadata", "namespace"), fields["namespace"], layer.text, ("namespace",))
    for patch in layer.patches:
        if not is_target(patch, value, names):
            continue
        if isinstance(patch.value, list):
            yield from _operations(patch.value, patch.text, patch.start)
        elif isinstance(patch.value, Mapping):
            yield Part((), _without_identity(patch.value), patch.text, patch.start)
    for start, entry in _generators(value, layer, names):
        yield from _generated(value, layer, start, entry)


def _without_identity(patch: Mapping[str, Any]) -> JSONObject:
    """A strategic merge patch without what names its object."""
    rest = {key: each for key, each in patch.items() if key not in {"apiVersion", "kind"}}
    metadata = rest.get("metadata")
    if isinstance(metadata, Mapping):
        own = {key: each for key, each in metadata.items() if key not in {"name", "namespace"}}
        rest["metadata"] = own
    return rest


def _operations(operations: Iterable[Any], text: Document, start: Path) -> Iterator[Part]:
    """What a JSON patch sets and removes; paths as RFC 6901 writes them."""
    for index, each in reversed(tuple(enumerate(operations))):
        if not isinstance(each, Mapping) or not isinstance(each.get("path"), str):
            continue
        tokens = each["path"].split("/")[1:]
        at = tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens)
        if each.get("op") in _SETTING:
            yield Part(at, each.get("value"), text, (*start, index, "value"))
        elif each.get("op") == "remove":
            yield Part(at, None, text, (*start, index))


def _replaced(value: JSONObject, layer: KustomizationFile, names: ObjectNames) -> Iterator[Part]:
    """What `replacements` copy from elsewhere, at the field path that says where to."""
    for text, above, entry in layer.replacements:
        for start, target in _entries(entry, "targets"):
            select = target.get("select")
            is_ours = isinstance(select, Mapping) and is_selected(select, value, names)
            for index, each in enumerate(items_at(target, "fieldPaths") if is_ours else ()):
                where = (*above, *start, "fieldPaths", index)
                for path in replacement_fields.field_paths(value, str(each)):
                    yield Part(path, value_at(value, path), text, where)


def _images(built: Document, layer: KustomizationFile) -> Iterator[Part]:
    entries = tuple(_entries(layer.text.value, "images"))
    for path, image in _fields(built.value, "image") if entries else ():
        match = _IMAGE.fullmatch(image) if isinstance(image, str) else None
        if match is None or built.says(path):
            continue
        for start, entry in reversed(entries):
            wanted = {"newName": match["name"], "newTag": match["tag"], "digest": match["digest"]}
            given = [key for key in wanted if entry.get(key)]
            is_named = entry.get("newName") or entry.get("name") == match["name"]
            if is_named and given and all(str(entry[key]) == wanted[key] for key in given):
                where = (*start, given[0]) if len(given) == 1 else start
                yield Part(path, image, layer.text, where)


def _replicas(value: JSONObject, layer: KustomizationFile, names: ObjectNames) -> Iterator[Part]:
    for start, entry in (
        _entries(layer.text.value, "replicas") if value.get("kind") in _SCALED else ()
    ):
        if entry.get("name") in names.names:
            yield Part(("spec", "replicas"), entry.get("count"), layer.text, (*start, "count"))


def _labels(value: JSONObject, layer: KustomizationFile) -> Iterator[Part]:
    """Labels and annotations, in the object's own metadata or wherever it has some."""
    for start, entry in _entries(layer.text.value, "labels"):
        is_everywhere = any(map(entry.get, _FURTHER))
        where = ("labels", _LABELS if is_everywhere else ())
        yield from _pairs(value, layer, where, ((*start, "pairs"), entry.get("pairs")))
    for field, keys in _COMMON.items():
        given = layer.text.value.get(field)
        yield from _pairs(value, layer, (keys[0], keys), ((field,), given))


def _pairs(
    value: JSONObject,
    layer: KustomizationFile,
    where: tuple[str, Sequence[str]],
    given: tuple[Path, Any],
) -> Iterator[Part]:
    own, keys = where
    start, pairs = given
    if isinstance(pairs, Mapping):
        yield Part(("metadata", own), pairs, layer.text, start)
        for key in keys:
            yield from (Part(path, pairs, layer.text, start) for path, _ in _fields(value, key))


def _name(built: Document, layer: KustomizationFile, names: ObjectNames) -> Iterator[Part]:
    for field in ("namePrefix", "nameSuffix"):
        added = layer.text.value.get(field)
        if isinstance(added, str) and added and not built.says(_NAME):
            is_prefix = field == "namePrefix"
            if any(
                each.startswith(added) if is_prefix else each.endswith(added)
                for each in names.names
            ):
                yield Part(_NAME, value_at(built.value, _NAME), layer.text, (field,))


def _generators(
    value: JSONObject, layer: KustomizationFile, names: ObjectNames
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The entries from which a layer makes the object, or a part of it."""
    field = _GENERATORS.get(str(value.get("kind")))
    for start, entry in _entries(layer.text.value, field) if field else ():
        if entry.get("name") in names.names:
            yield start, entry


def _generated(
    value: JSONObject, layer: KustomizationFile, start: Path, entry: Mapping[str, Any]
) -> Iterator[Part]:
    """What single lines of a generator make."""
    for index, each in enumerate(items_at(entry, "literals")):
        key, _, text = str(each).partition("=")
        kept = b64encode(text.encode()).decode() if value.get("kind") == "Secret" else text
        yield Part(("data", key), kept, layer.text, (*start, "literals", index))
    for index, each in enumerate(items_at(entry, "files")):
        key, sign, _ = str(each).partition("=")
        at = ("data", key if sign else PurePath(key).name)
        if (kept := value_at(value, at)) is not None:
            yield Part(at, kept, layer.text, (*start, "files", index))
    for field in _OPTIONS:
        given = value_at(entry, ("options", field))
        if isinstance(given, Mapping):
            yield Part(("metadata", field), given, layer.text, (*start, "options", field))


def _entries(value: Any, field: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The objects of a field that is a list, with their paths."""
    for index, each in enumerate(items_at(value, field)):
        if isinstance(each, Mapping):
            yield (field, index), each


def _fields(value: Any, key: str, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field of a name, wherever it stands in a value."""
    inside = value.items() if isinstance(value, Mapping) else ()
    for own, each in enumerate(value) if isinstance(value, list) else inside:
        if own == key:
            yield (*path, own), each
        yield from _fields(each, key, (*path, own))
