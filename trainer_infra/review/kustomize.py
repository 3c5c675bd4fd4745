"""A folder with a kustomization -> what `kustomize build` makes of it, placed in the files.

An object is placed in the file that kustomize says it is from, with the layers that changed it; what
the file of a patch sets, in that file.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.review import (
    documents,
    helm,
    kustomize_build,
    kustomize_layers,
    source_of_built,
    subprocess_tool,
)
from trainer_infra.review.documents import Document, Part
from trainer_infra.review.kustomize_build import BuiltObject
from trainer_infra.review.kustomize_layers import LayerPart
from trainer_infra.rules.supply_chain import moving_sources

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""What the file is called."""
_GENERATORS: Final = {"configMapGenerator": "ConfigMap", "secretGenerator": "Secret"}
"""Fields with items from each of which it makes an object."""
_CHARTS: Final = "helmCharts"
_OBJECTS: Final = (("resources",), ("bases",), ("components",))
"""Fields with files and folders whose objects it builds."""
_PLUGINS: Final = (("generators",), ("transformers",), ("validators",))
_CONFIGURED: Final = (
    *(*_PLUGINS, ("patchesStrategicMerge",), ("patches", "path"), ("patchesJson6902", "path")),
    *(("path",), ("paths",)),
)
"""Those with files and folders that say how it builds them, also of a transformer; a text may be the YAML itself."""
_READ: Final = (
    *(("crds",), ("configurations",), ("replacements", "path"), ("openapi", "path")),
    *((_CHARTS, "valuesFile"), (_CHARTS, "additionalValuesFiles")),
    *((field, files) for field in _GENERATORS for files in ("files", "envs", "env")),
    *(("files",), ("envs",)),
)
"""Those with files that it reads otherwise; an object in one is not built."""
_NOT_FETCHED: Final = (
    "was not built: it names a base by {scheme}://, and a check fetches by https and ssh alone; put the base into "
    "the repository, or pipe what kustomize builds"
)
_NO_HELM: Final = (
    "`helm` is needed to build it, and is not on PATH; install it, or pipe what kustomize builds"
)
_NO_CHART: Final = (
    "cannot be built: its chart {} is not there, and a check fetches none; `helm pull` it, or pipe what "
    "kustomize builds"
)


@dataclass(frozen=True, slots=True)
class Uses:
    """What a kustomization builds from; whole paths without links.

    kubectl or another kustomization may deploy an object in files that become `data`.
    """

    objects: frozenset[str] = frozenset()
    """Files whose objects it builds."""
    configuration: frozenset[str] = frozenset()
    """Files that say how, such as patches, and itself: no object of them is deployed as it stands."""
    folders: frozenset[str] = frozenset()
    """Other kustomizations."""
    data: frozenset[str] = frozenset()
    """Files that it reads otherwise: data of ConfigMaps, values of charts, what it says of kinds."""
    charts: tuple[str, ...] = ()
    """Charts that it renders, be they there or not."""
    addresses: tuple[str, ...] = ()
    """What it builds from that is not in the repository."""
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


def used_files(folder: str) -> Uses:
    """What the folder's kustomization builds from. Source: kustomize's `Kustomization` type, v5."""
    where = Path(folder)
    file = _own(where) or where / NAMES[0]
    value = _fields(file)
    plugins = filter(os.path.isfile, _paths(where, value, _PLUGINS))
    named = [value, *(each.value for one in plugins for each in documents.yaml_of_file(one))]
    objects, configuration, data = (
        tuple(path for each in named for path in _paths(where, each, fields))
        for fields in (_OBJECTS, _CONFIGURED, _READ)
    )
    return Uses(
        objects=frozenset(filter(os.path.isfile, objects)),
        configuration=frozenset((os.path.realpath(file), *filter(os.path.isfile, configuration))),
        folders=frozenset(each for each in (*objects, *configuration) if is_one(Path(each))),
        data=frozenset(filter(os.path.isfile, data)),
        charts=tuple(_charts(where, value)),
        addresses=tuple(moving_sources.addresses(value) if isinstance(value, Mapping) else ()),
        is_component=documents.value_at(value, ("kind",)) == "Component",
    )


def _charts(folder: Path, value: Any) -> Iterator[str]:
    """Where charts that a kustomization renders are, or are put once they have been fetched."""
    home = documents.value_at(value, ("helmGlobals", "chartHome")) or helm.FOLDER
    for each in documents.items_at(value, _CHARTS):
        name = str(documents.value_at(each, ("name",)))
        fetched = f"{name}-{documents.value_at(each, ('version',))}"
        here, there = (
            os.path.realpath(folder / str(home) / one) for one in (name, f"{fetched}/{name}")
        )
        yield there if Path(there).is_dir() else here


def used_kustomizations(
    folders: Iterable[str | Path], read: Callable[[str], Uses] = used_files
) -> dict[str, Uses]:
    """The folders' kustomizations and those that these build upon, those that are nearer first."""
    found: dict[str, Uses] = {}
    waiting = [os.path.realpath(each) for each in folders]
    for each in waiting:
        if each not in found:
            found[each] = read(each)
            waiting += sorted(found[each].folders)
    return found


def read_kustomization(folder: Path) -> tuple[Document, ...]:
    """The objects that it builds.

    Raises:
        NotAvailable: It cannot be built; what kustomize said. Or it names what a check does not fetch.
        InvalidInput: What was built is not YAML.
    """
    used = used_kustomizations([folder])
    for address in (address for uses in used.values() for address in uses.addresses):
        scheme = moving_sources.scheme(address)
        if scheme not in kustomize_build.fetched_schemes():
            raise NotAvailable(_NOT_FETCHED.format(scheme=scheme))
    charts = [each for uses in used.values() for each in uses.charts]
    missing = next((each for each in charts if not helm.is_one(Path(each))), None)
    if missing:
        raise NotAvailable(_NO_CHART.format(os.path.relpath(missing)))
    if charts and subprocess_tool.find_tool("helm") is None:
        raise NotAvailable(_NO_HELM)
    top, text = kustomize_build.built_text(folder, has_charts=bool(charts))
    return placed_kustomization(folder, top, text)


def foreign_documents(folder: Path) -> tuple[Document, ...]:
    """The kustomization itself where it builds from what is not in the repository: that is judged, too."""
    file = os.fspath(_own(folder) or folder / NAMES[0])
    usual = {"apiVersion": f"{moving_sources.KUSTOMIZE_API}v1beta1", "kind": "Kustomization"}
    named = {"metadata": {"name": folder.resolve().name}}
    return tuple(
        replace(each, value={**usual, **named, **each.value}, is_editable=False)
        for each in documents.yaml_of_file(file)
        if isinstance(each.value, Mapping) and moving_sources.has_foreign(each.value)
    )


def placed_kustomization(folder: Path, top: str, text: str) -> tuple[Document, ...]:
    """What kustomize printed, placed in the files; `top` is the folder that origins are relative to."""
    placing = _Placing(folder, top)
    by_file: dict[str, list[JSONObject]] = {}
    layers: dict[int, Sequence[str]] = {}
    for each in yaml_source.read_yaml(text, os.fspath(folder)):
        if isinstance(each.value, Mapping):
            built = kustomize_build.built_object(each.value)
            by_file.setdefault(placing.origin(built), []).append(built.value)
            layers[id(built.value)] = placing.layers(built)
    return tuple(
        # One that came out as it is written is that very document.
        placing.with_layers(document, layers[id(document.value)])
        if id(document.value) in layers
        else document
        for file, objects in by_file.items()
        for document in map(
            placing.at_chart,
            source_of_built.placed_document(objects, placing.written(file), file),
        )
    )


class _Placing:
    """Files of one kustomization, each read once."""

    def __init__(self, folder: Path, top: str) -> None:
        self._folder, self._top = folder, top
        self._own = os.path.normpath(_own(folder) or folder)
        self.written = lru_cache(maxsize=None)(_written)
        self._said = lru_cache(maxsize=None)(self._said_by)

    def origin(self, built: BuiltObject) -> str:
        """The file that an object is from."""
        if built.file is None:
            return self._own
        file = self._shown(Path(self._top, built.file))
        if not built.is_from_patch:
            return file
        kind = built.value.get("kind")
        alike = [each for each in self._resources if each.value.get("kind") == kind]
        found = source_of_built.named_document(built.value, alike)
        return found.file if found else file

    def layers(self, built: BuiltObject) -> Sequence[str]:
        """The kustomizations that an object went through, the innermost first."""
        if built.is_from_patch:
            return self._kustomizations
        return [self._shown(Path(self._top, each)) for each in built.layers]

    def with_layers(self, document: Document, layers: Iterable[str]) -> Document:
        """A built object with what changed it: its layers, and the files of their patches."""
        layers = tuple(layers)
        through: list[str] = []
        parts: list[Part] = []
        for layer in layers:
            found = (kustomize_layers.parts_of_built(document, each) for each in self._said(layer))
            own = [each for parts in found for each in parts]
            parts += own
            through += (layer, *(each.text.file for each in own))
        for file in dict.fromkeys((document.file, *layers)):
            generators = self.written(file) if Path(file).name in NAMES else ()
            parts += (
                one
                for each in generators
                for one in kustomize_layers.generated_parts(document, each)
            )
        return replace(document, parts=tuple(parts[::-1]), layers=tuple(dict.fromkeys(through)))

    def at_chart(self, document: Document) -> Document:
        """An object without a text of its own, where its kustomization names the chart that has it."""
        if document.source is not None or Path(document.file).name not in NAMES:
            return document
        name = str(documents.value_at(document.value, ("metadata", "name")))
        places = [
            (text, index, str(documents.value_at(each, ("releaseName",))) in name)
            for text in documents.yaml_of_file(document.file)
            for index, each in enumerate(documents.items_at(text.value, _CHARTS))
        ]
        fitting = [each for each in places if each[2]] or places
        if len(fitting) != 1:
            return document
        text, index, _ = fitting[0]
        return replace(document, source=text.source, start=(_CHARTS, index), lines=text.lines)

    def _shown(self, file: Path) -> str:
        """A file as the user would name it."""
        below = os.path.relpath(os.path.realpath(file), os.path.realpath(self._folder))
        return os.path.normpath(self._folder / below)

    def _said_by(self, layer: str) -> Sequence[LayerPart]:
        """What a layer says, in the order in which it is applied."""
        return [
            said
            for file in documents.yaml_of_file(layer)
            for said in kustomize_layers.layer_parts(file, self._patch)
        ]

    def _patch(self, file: Path) -> Sequence[Document]:
        return documents.yaml_of_file(self._shown(file))

    @cached_property
    def _uses(self) -> dict[str, Uses]:
        return used_kustomizations([self._folder])

    @cached_property
    def _kustomizations(self) -> Sequence[str]:
        own = (_own(Path(each)) for each in reversed(self._uses))
        return [self._shown(each) for each in own if each]

    @cached_property
    def _resources(self) -> Sequence[Document]:
        """The objects of all files that are built."""
        files = (each for uses in self._uses.values() for each in sorted(uses.objects))
        return [one for each in files for one in self.written(self._shown(Path(each)))]


def _fields(file: Path) -> Any:
    """What a kustomization says; None where it cannot be read, and building it will say why."""
    try:
        return yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        return None


def _written(file: str) -> tuple[Document, ...]:
    """The objects of a file; of a kustomization those that it generates, each where its generator is."""
    if Path(file).name in NAMES:
        return tuple(
            replace(text, value={"kind": kind, "metadata": each}, start=(field, index))
            for text in documents.yaml_of_file(file)
            for field, kind in _GENERATORS.items()
            for index, each in enumerate(documents.items_at(text.value, field))
        )
    try:
        return documents.read_documents(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, ValueError, InvalidInput):
        return ()


def _paths(folder: Path, value: Any, fields: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """What fields of a kustomization refer to, be it there or not."""
    for field in fields:
        for each in _texts(value, field):
            # Of a generator `key=file` names the key too.
            text = each.rpartition("=")[2] if field[-1] == "files" else each
            if text.strip() and not any(mark in text for mark in ("\n", "\0", "://")):
                yield os.path.realpath(folder / text)


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The texts at a path, in all items of lists on the way."""
    if isinstance(value, list):
        yield from (text for each in value for text in _texts(each, path))
    elif path:
        yield from _texts(documents.value_at(value, path[:1]), path[1:])
    elif isinstance(value, str):
        yield value
