"""Documents -> environments: what is deployed together, and has no object twice.

Where two folders of one folder have an object of the same kind, namespace and name, they are meant
for different clusters: each of them is an environment, and what stands beside them is of both.
Folders of one name go together (`queues/dev` and `jobs/dev`). A folder is where a file is, or the
overlay or chart that an object was built in.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from pathlib import PurePath
from typing import Any, Final, TypeAlias

from trainer_infra.api.shape.object_meta import CLUSTER_SCOPED
from trainer_infra.review.documents import Document, value_at

Key: TypeAlias = tuple[str, str, str, str]
"""API group, kind, namespace and name."""
_Positions: TypeAlias = frozenset[int]
_VALUES: Final = re.compile(r"^values[-_.](?=.*[.])|([-_.]values)?[.](ya?ml|json)$")
_MOST: Final = 64
"""Environments that are made by pairing folders whose names say nothing of one another."""


@dataclass(frozen=True, slots=True)
class DocumentEnvironment:
    """What is deployed together."""

    name: str
    """Folder by which it differs from the others, or its name in the configuration; may be empty."""
    positions: tuple[int, ...]
    """Which of the documents."""
    configured: str = ""
    """Name of the configured environment that it is; empty where it is none."""


@dataclass(slots=True)
class _FolderDocuments:
    positions: list[int] = field(default_factory=list)
    """Of documents in the folder itself."""
    keys: set[Key] = field(default_factory=set)
    """Of all objects in it, and in the folders in it."""
    folders: dict[str, "_FolderDocuments"] = field(default_factory=dict)


def environments_of(
    documents: Sequence[Document],
    configured: Mapping[str, Sequence[str]] | None = None,
    root: str = os.curdir,
) -> tuple[DocumentEnvironment, ...]:
    """The environments; a document that is of several is in each of them.

    Those of the configuration have folders, as patterns relative to `root`, by their names.
    """
    owners = [configured_environments(each, configured or {}, root) for each in documents]
    return tuple(
        each
        for name, positions in _environments(_tree(documents)).items()
        for each in _of_owners(name, positions, owners)
    )


def documents_of(
    environment: str | None,
    documents: Sequence[Document],
    configured: Mapping[str, Sequence[str]],
    root: str = os.curdir,
) -> tuple[Document, ...]:
    """The documents of a configured environment, and those of all; every one where none is named."""
    if environment is None:
        return tuple(documents)
    owners = (configured_environments(each, configured, root) for each in documents)
    return tuple(
        each for each, of in zip(documents, owners, strict=True) if not of or environment in of
    )


def configured_environments(
    document: Document, configured: Mapping[str, Sequence[str]], root: str = os.curdir
) -> frozenset[str]:
    """The configured environments that a document is of alone; none where it is of all."""
    if not configured:
        return frozenset()
    # Patterns begin where their file is, however the paths of a check are named.
    own = [PurePath(os.path.relpath(each, root)) for each in document.deployed_from]
    folders = {str(each) for folder in own for each in (folder, *folder.parents)}
    return frozenset(
        name
        for name, patterns in configured.items()
        for pattern in map(os.path.normpath, patterns)
        if any(fnmatchcase(each, pattern) for each in folders)
    )


def object_key(value: Mapping[str, Any]) -> Key:
    """By what a cluster tells an object from others; what is not a text is empty."""
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    group = _text(value.get("apiVersion")).rpartition("/")[0]
    kind = _text(value.get("kind"))
    namespace = "" if kind in CLUSTER_SCOPED else _text(named.get("namespace"))
    return group, kind, namespace, _text(named.get("name"))


def new_name(document: Document) -> tuple[tuple[str, str, str], str] | None:
    """What a tool calls an object, by its kind, namespace and the name in its file; None where that stays."""
    written = document.written
    if written is document.value or not isinstance(written, Mapping):
        return None
    _, kind, namespace, name = object_key(document.value)
    # A generator has the name in a field of its own.
    named = value_at(written, ("metadata", "name") if "kind" in written else ("name",))
    is_other = isinstance(named, str) and name not in ("", named)
    return ((kind, namespace, named), name) if is_other else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _of_owners(
    name: str, positions: _Positions, owners: Sequence[frozenset[str]]
) -> Iterator[DocumentEnvironment]:
    """An environment, apart for each that the configuration has of it."""
    inside = sorted({owner for each in positions for owner in owners[each]})
    if not inside:
        yield DocumentEnvironment(name, tuple(sorted(positions)))
    for owner in inside:
        own = sorted(each for each in positions if not owners[each] or owner in owners[each])
        yield DocumentEnvironment(_longer(name, owner), tuple(own), owner)


def _tree(documents: Sequence[Document]) -> _FolderDocuments:
    top = _FolderDocuments()
    for position, document in enumerate(documents):
        key = object_key(document.value)
        for folder in document.deployed_from:
            # Each rendering of a chart is for a cluster of its own.
            for rendering in document.renderings or ("",):
                own = ("", "", folder, rendering and "Chart")
                keys = [each for each in (key, own) if each[-1]]
                here = top
                for part in filter(None, (*PurePath(os.path.normpath(folder)).parts, rendering)):
                    here = here.folders.setdefault(part, _FolderDocuments())
                    here.keys.update(keys)
                here.positions.append(position)
    return top


def _environments(folder: _FolderDocuments) -> dict[str, _Positions]:
    """By name; one alone has an empty one."""
    inside = {name: _environments(each) for name, each in folder.folders.items()}
    opposed = _opposed(folder)
    apart = {
        f"{name}/{inner or _only(folder.folders[name])}".rstrip("/"): positions
        for name in folder.folders
        if name in opposed
        for inner, positions in inside[name].items()
    }
    beside = [each for name, each in inside.items() if name not in opposed]
    whole = (each[""] for each in beside if "" in each)
    found = {"": frozenset(folder.positions).union(*whole)}
    for each in (*(each for each in beside if "" not in each), apart):
        found = _together(found, each) if each else found
    return found


def _only(folder: _FolderDocuments) -> str:
    """The folders in which all stands that is in it: `dev` where a team has nothing else yet."""
    parts = []
    while not folder.positions and len(folder.folders) == 1:
        ((name, folder),) = folder.folders.items()
        parts.append(name)
    return "/".join(parts)


def _opposed(folder: _FolderDocuments) -> set[str]:
    """The folders in it that have an object which another one has too."""
    owners: dict[Key, list[str]] = {}
    for name, each in folder.folders.items():
        for key in each.keys:
            owners.setdefault(key, []).append(name)
    return {name for those in owners.values() if len(those) > 1 for name in those}


def _together(
    one: Mapping[str, _Positions], other: Mapping[str, _Positions]
) -> dict[str, _Positions]:
    """Environments of two parts of a folder: those of one name, or else each with each."""
    called: dict[str, list[str]] = {}
    for name in other:
        called.setdefault(_last(name), []).append(name)
    pairs = [(name, each) for name in one for each in called.get(_last(name), ())]
    if not pairs and (1 in (len(one), len(other)) or len(one) * len(other) <= _MOST):
        pairs = list(product(one, other))
    found = {_longer(*pair): one[pair[0]] | other[pair[1]] for pair in pairs}
    paired = {each for pair in pairs for each in pair}
    for mine, others in ((one, other), (other, one)):
        shared = frozenset.intersection(*others.values())
        found |= {name: each | shared for name, each in mine.items() if name not in paired}
    return found


def _last(name: str) -> str:
    """What says whose it is: `prod` of `envs/prod`, and of a rendering with `values-prod.yaml`."""
    return _VALUES.sub("", name.rpartition("/")[2])


def _longer(one: str, other: str) -> str:
    """The name that ends with the other; both where neither does."""
    if one.endswith(other):
        return one
    return other if other.endswith(one) else f"{one}, {other}"
