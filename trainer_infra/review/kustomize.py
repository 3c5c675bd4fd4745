"""A folder with a kustomization -> what `kustomize build` makes of it, placed in the files.

An object is placed in the file that kustomize says it is from, and each part of it that an overlay
sets in that overlay.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.review import (
    documents,
    kustomization_file,
    kustomize_build,
    origin_annotations,
    overlay_parts,
    source_of_built,
)
from trainer_infra.review.documents import Document
from trainer_infra.review.origin_annotations import BuiltObject
from trainer_infra.review.patch_target import ObjectNames

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""What the file is called."""
_OBJECTS: Final = ("resources", "bases", "components")
"""Fields with files and folders whose objects it builds."""
_CONFIGURED: Final = ("generators", "transformers", "validators", "patchesStrategicMerge")
"""Fields with files and folders that say how it builds them; a text may be the YAML itself."""
_BY_PATH: Final = ("patches", "patchesJson6902")
"""Fields with items whose `path` is a file that says so."""


@dataclass(frozen=True, slots=True)
class Uses:
    """What a kustomization builds from; whole paths without links.

    Files that become data of a ConfigMap are none of it: kubectl or another kustomization may deploy them.
    """

    objects: frozenset[str] = frozenset()
    """Files whose objects it builds."""
    configuration: frozenset[str] = frozenset()
    """Files that say how, such as patches, and itself: no object of them is deployed as it stands."""
    folders: frozenset[str] = frozenset()
    """Other kustomizations."""
    is_component: bool = False
    """Whether it is only a part of others, which cannot be built by itself."""

    @property
    def files(self) -> frozenset[str]:
        """All files, which are not to be read by themselves where it is built."""
        return self.objects | self.configuration


def is_one(folder: Path) -> bool:
    """Whether the folder is a kustomization."""
    return _own(folder) is not None


def _own(folder: Path) -> Path | None:
    files = (folder / name for name in NAMES)
    return next((each for each in files if each.is_file()), None)


def used_files(folder: Path) -> Uses:
    """What the folder's kustomization builds from. Source: kustomize's `Kustomization` type, v5."""
    file = _own(folder) or folder / NAMES[0]
    own = frozenset({os.path.realpath(file)})
    try:
        value = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        # Building it will say what is wrong.
        return Uses(configuration=own)
    objects = _paths(folder, value, _OBJECTS)
    configuration = _paths(folder, value, _CONFIGURED, _BY_PATH)
    return Uses(
        frozenset(filter(os.path.isfile, objects)),
        own.union(filter(os.path.isfile, configuration)),
        frozenset(each for each in (*objects, *configuration) if is_one(Path(each))),
        documents.value_at(value, ("kind",)) == "Component",
    )


def used_kustomizations(folders: Iterable[Path]) -> dict[str, Uses]:
    """The folders' kustomizations and those that these build upon, those that are nearer first."""
    found: dict[str, Uses] = {}
    waiting = [*map(os.path.realpath, folders)]
    for each in waiting:
        if each not in found:
            found[each] = used_files(Path(each))
            waiting += sorted(found[each].folders)
    return found


def read_kustomization(folder: Path) -> tuple[Document, ...]:
    """The objects that it builds.

    Raises:
        NotAvailable: It cannot be built; what kustomize said.
        InvalidInput: What was built is not YAML.
    """
    top, text = kustomize_build.built_text(folder)
    return placed_kustomization(folder, top, text)


def placed_kustomization(folder: Path, top: str, text: str) -> tuple[Document, ...]:
    """What was built, placed in the files.

    Args:
        folder: as the user named it.
        top: the folder that origins are relative to.
        text: what kustomize printed.
    """
    placing = _Placing(folder, top)
    by_file: dict[str, list[JSONObject]] = {}
    layers: dict[int, tuple[str, ...]] = {}
    for each in yaml_source.read_yaml(text, os.fspath(folder)):
        if isinstance(each.value, Mapping):
            built = origin_annotations.built_object(each.value)
            file, through = placing.origin(built)
            by_file.setdefault(file, []).append(built.value)
            layers[id(built.value)] = through
    return tuple(
        placing.with_parts(document, layers[id(document.value)])
        if id(document.value) in layers
        else document
        for file, objects in by_file.items()
        for document in source_of_built.placed_document(objects, placing.written(file), file)
    )


class _Placing:
    """Files of one kustomization, each read once."""

    def __init__(self, folder: Path, top: str) -> None:
        self._folder, self._top = folder, top
        self._layer = lru_cache(maxsize=None)(kustomization_file.read_kustomization_file)
        self._own = os.path.normpath(_own(folder) or folder)
        self.written = lru_cache(maxsize=None)(_written)

    def origin(self, built: BuiltObject) -> tuple[str, tuple[str, ...]]:
        """The file that an object is from, and its layers, the outermost first."""
        file = self._own if built.file is None else self._shown(Path(self._top, built.file))
        # What has no transformers is not among the layers, and the folder's own may have none.
        layers = (self._own, *(self._shown(Path(self._top, each)) for each in built.layers))
        if built.is_from_patch:
            layers = (*layers, file, *self._below)
            names = ObjectNames.of(Document(built.value, file, None), self._values(layers))
            fitting = (each for each in self._resources if self._has(each, built.value, names))
            file = next(fitting, file)
        return file, tuple(dict.fromkeys((*layers, file)))

    def with_parts(self, document: Document, files: Iterable[str]) -> Document:
        """A built object with what each layer says of it; one of a generator is placed there."""
        layers = [layer for file in files if (layer := self._layer(file))]
        if document.source is None and (origin := self._layer(document.file)):
            document = overlay_parts.generator_document(document, layers, origin) or document
        return replace(document, parts=overlay_parts.overlay_parts(document, layers))

    def _shown(self, file: Path) -> str:
        """A file as the user would name it."""
        below = os.path.relpath(os.path.realpath(file), os.path.realpath(self._folder))
        return os.path.normpath(self._folder / below)

    def _values(self, files: Iterable[str]) -> list[Any]:
        return [layer.text.value for file in files if (layer := self._layer(file))]

    def _has(self, file: str, value: JSONObject, names: ObjectNames) -> bool:
        return any(
            each.value.get("kind") == value.get("kind")
            and documents.value_at(each.value, ("metadata", "name")) in names.names
            for each in self.written(file)
        )

    @cached_property
    def _uses(self) -> dict[str, Uses]:
        return used_kustomizations([self._folder])

    @property
    def _below(self) -> Iterator[str]:
        own = (_own(Path(each)) for each in self._uses)
        return (self._shown(each) for each in own if each)

    @property
    def _resources(self) -> Iterator[str]:
        objects = (each for uses in self._uses.values() for each in sorted(uses.objects))
        return (self._shown(Path(each)) for each in objects)


def _written(file: str) -> tuple[Document, ...]:
    try:
        return documents.read_documents(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, ValueError, InvalidInput):
        return ()


def _paths(
    folder: Path, value: Any, listed: Iterable[str], by_path: Iterable[str] = ()
) -> tuple[str, ...]:
    """What fields of a kustomization refer to, be it there or not."""
    texts = [each for field in listed for each in documents.items_at(value, field)]
    items = (each for field in by_path for each in documents.items_at(value, field))
    texts += (documents.value_at(each, ("path",)) for each in items)
    return tuple(os.path.realpath(folder / each) for each in texts if _may_be_path(each))


def _may_be_path(text: Any) -> bool:
    is_text = isinstance(text, str) and bool(text.strip())
    return is_text and "\n" not in text and "\0" not in text and "://" not in text
