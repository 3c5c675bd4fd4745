"""A folder with a kustomization -> what `kustomize build` makes of it, placed in the files.

Called by `sources`. A kustomization of our own is put on top, in a folder of ours: it has kustomize
say of each object what file it is from, and keep the order of the files.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.review import documents, source_of_built, subprocess_tool
from trainer_infra.review.documents import Document

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""What the file is called."""
_ORIGIN: Final = "config.kubernetes.io/origin"
"""The annotation in which kustomize says what an object is from."""
_ON_TOP: Final = {"buildMetadata": ["originAnnotations"], "sortOptions": {"order": "fifo"}}


@dataclass(frozen=True, slots=True)
class Uses:
    """What a kustomization refers to; whole paths without links."""

    files: frozenset[str] = frozenset()
    """Resources, patches and whatever else it reads, and itself."""
    folders: frozenset[str] = frozenset()
    """Other kustomizations."""
    is_component: bool = False
    """Whether it is only a part of others, which cannot be built by itself."""


def is_one(folder: Path) -> bool:
    """Whether the folder is a kustomization."""
    return _own(folder) is not None


def _own(folder: Path) -> Path | None:
    files = (folder / name for name in NAMES)
    return next((each for each in files if each.is_file()), None)


def used_files(folder: Path) -> Uses:
    """What the folder's kustomization refers to, by whatever field."""
    file = _own(folder) or folder / NAMES[0]
    try:
        value = yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError):
        # Building it will say what is wrong.
        return Uses(frozenset({os.path.realpath(file)}))
    paths = [os.path.realpath(folder / each) for each in _texts(value) if _may_be_path(each)]
    return Uses(
        frozenset({os.path.realpath(file), *filter(os.path.isfile, paths)}),
        frozenset(each for each in paths if Path(each).is_dir() and is_one(Path(each))),
        isinstance(value, dict) and value.get("kind") == "Component",
    )


def read_kustomization(folder: Path) -> tuple[Document, ...]:
    """The objects that it builds.

    Raises:
        NotAvailable: It cannot be built; a sentence.
        InvalidInput: What was built is not YAML.
    """
    with tempfile.TemporaryDirectory(prefix="trainer-infra-") as name:
        top = os.path.realpath(name)
        below = os.path.relpath(os.path.realpath(folder), top)
        on_top = {**_ON_TOP, "resources": [below]}
        Path(top, NAMES[0]).write_text(json.dumps(on_top), encoding="utf-8")
        text = _built(folder, top, below)
    return placed_kustomization(folder, top, text)


def placed_kustomization(folder: Path, top: str, text: str) -> tuple[Document, ...]:
    """What was built, placed in the files.

    Args:
        folder: as the user named it.
        top: the folder that origins are relative to.
        text: what kustomize printed.
    """
    by_file: dict[str, list[JSONObject]] = {}
    for each in yaml_source.read_yaml(text, os.fspath(folder)):
        if isinstance(each.value, Mapping):
            origin = _origin(each.value)
            by_file.setdefault(_file(folder, top, origin), []).append(_without(each.value))
    return tuple(
        document
        for file, objects in by_file.items()
        for document in source_of_built.placed_document(objects, _written(file), file)
    )


def _built(folder: Path, top: str, below: str) -> str:
    alone, kubectl = subprocess_tool.find_tool("kustomize"), subprocess_tool.find_tool("kubectl")
    if alone is None and kubectl is None:
        raise NotAvailable(
            "`kustomize` or `kubectl` is needed to build it, and neither is on PATH; install one, "
            f"or pipe what it builds: `kustomize build {folder} | trainer-infra check -`"
        )
    command = [alone, "build", top] if alone else [str(kubectl), "kustomize", top]
    try:
        return subprocess_tool.tool_output(command).decode("utf-8")
    except NotAvailable as error:
        raise NotAvailable(f"cannot be built: {_words(str(error), folder, top, below)}") from None


def _words(said: str, folder: Path, top: str, below: str) -> str:
    """The innermost of kustomize's sentences, without places that the user does not know."""
    words = said.rpartition("accumulating resources: ")[2]
    for place in (below, top, os.path.realpath(folder)):
        words = words.replace(place, str(folder))
    return words.replace(f"{Path.cwd()}{os.sep}", "")


def _origin(value: JSONObject) -> JSONObject:
    """What kustomize says that an object is from; empty where it says nothing."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    said = annotations.get(_ORIGIN) if isinstance(annotations, Mapping) else None
    origin = yaml.load(said, Loader=yaml.CSafeLoader) if isinstance(said, str) else None
    return origin if isinstance(origin, dict) else {}


def _file(folder: Path, top: str, origin: JSONObject) -> str:
    """The file that an object is from, as the user would name it; the kustomization's for others."""
    inside = origin.get("configuredIn") or origin.get("path")
    if origin.get("repo") or not isinstance(inside, str):
        return os.path.normpath(_own(folder) or folder)
    whole = os.path.realpath(Path(top, inside))
    return os.path.normpath(folder / os.path.relpath(whole, os.path.realpath(folder)))


def _without(value: JSONObject) -> JSONObject:
    """The object without what kustomize says of it."""
    metadata = value["metadata"] if _origin(value) else {}
    if not metadata:
        return value
    others = {key: each for key, each in metadata["annotations"].items() if key != _ORIGIN}
    rest = {key: each for key, each in metadata.items() if key != "annotations"}
    return {**value, "metadata": {**rest, **({"annotations": others} if others else {})}}


def _written(file: str) -> tuple[Document, ...]:
    try:
        return documents.read_documents(Path(file).read_text(encoding="utf-8"), file)
    except (OSError, ValueError, InvalidInput):
        return ()


def _texts(value: Any) -> Iterator[str]:
    """Every text in it, and what stands behind an equals sign: `name=file`."""
    if isinstance(value, str):
        yield value
        yield value.partition("=")[2]
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _may_be_path(text: str) -> bool:
    return bool(text.strip()) and "\n" not in text and "\0" not in text and "://" not in text
