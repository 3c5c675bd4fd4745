"""What travels to a training pod: the files of its code mount, and what its Python needs.

A trainer makes a Code from what the user gave; `code_mount` adds it to a TrainJob. Pure, and light: a
program that names a trainer imports it.
"""

import ast
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Self

from trainer_infra.json_values import JSONDict

_PARSING = Lock()
OURS = ("init.py", "main.py", "packages.py", "lib/")
"""Paths in the mount that are the same for every job of one release."""
PLACES = ("packagesAt", "origin", "stored")
"""Keys of the wire form that say where something is kept or comes from."""


def content_hash(value: Any) -> str:
    """Eight hex digits of a sha256 over a JSONDict value, the same in every process."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class StoredCode:
    """A folder of code that a ConfigMap cannot hold: one tar in a store, which pods fetch before they train."""

    address: str
    """Of the tar, whose name is the sha256 of its content: `s3://BUCKET/PREFIX/<64 hex digits>.tar`."""
    meaning: str
    """A digest of what its files say: a comment in a Python file changes nothing."""
    secret: str = ""
    """Name of the Secret with the variables by which pods reach the store; empty where their account may."""
    image: str = ""
    """What fetches it; empty for ours."""

    def to_wire(self) -> JSONDict:
        """The value as JSON."""
        wire = {"address": self.address, "meaning": self.meaning}
        also = {"secret": self.secret, "image": self.image}
        return wire | {key: each for key, each in also.items() if each}


@dataclass(frozen=True, slots=True)
class Code:
    """The files of a job's code mount and what its Python needs."""

    files: Mapping[str, str]
    """Path in the mount -> text, exact."""
    packages: tuple[str, ...]
    """Options of an installer, each of which begins with two dashes, and pinned requirements of the job's
    Python, sorted and unique."""
    secret_args: bool
    """Whether the file of secret arguments must be mounted."""
    image_has_packages: bool | tuple[str, ...] = False
    """Whether pods find the packages in their image; or those lines of the packages which they do."""
    packages_at: str = ""
    """Address of the cache of packages; empty for the stack's."""
    references: Mapping[str, JSONDict] = field(default_factory=dict)
    """Path of a file in the pod -> where its content is: `secretKeyRef` or `configMapKeyRef`."""
    launcher: tuple[str, ...] = ()
    """The command before the path of the program, in place of the runtime's: `("accelerate", "launch")`."""
    policies: tuple[str, ...] = ()
    """Fields of a runtime's mlPolicy of which the code needs one, such as `torch`; none where any will do."""
    stored: StoredCode | None = None
    """The user's own files, where they are not among `files`."""
    origin: str = ""
    """The git reference that the user's own files are from, with its commit."""
    least_nodes: int = 0
    """Nodes with which the training goes on where there are no more of them; 0 where their number is fixed."""

    def to_wire(self) -> JSONDict:
        """The value as JSONDict, as a resource's inputs hold it."""
        files, has = dict(self.files), self.image_has_packages
        wire = {"files": files, "packages": list(self.packages), "secretArgs": self.secret_args}
        also = {
            "imageHasPackages": list(has) if isinstance(has, tuple) else has,
            "packagesAt": self.packages_at,
            "references": dict(self.references),
            "launcher": list(self.launcher),
            "policies": list(self.policies),
            "stored": self.stored.to_wire() if self.stored else None,
            "origin": self.origin,
            "leastNodes": self.least_nodes,
        }
        # What is not said is left out: a digest is the same as in earlier releases.
        return wire | {key: each for key, each in also.items() if each}

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> Self:
        """The value that `to_wire` wrote."""
        has = value.get("imageHasPackages")
        return cls(
            dict(value["files"]),
            tuple(value["packages"]),
            value["secretArgs"],
            tuple(has) if isinstance(has, list) else bool(has),
            str(value.get("packagesAt") or ""),
            dict(value.get("references") or {}),
            tuple(value.get("launcher") or ()),
            tuple(value.get("policies") or ()),
            StoredCode(**value["stored"]) if value.get("stored") else None,
            str(value.get("origin") or ""),
            value.get("leastNodes") or 0,
        )

    def launch(self) -> JSONDict:
        """What the launcher in the pod, in_pod/main.py, is told to start."""
        return dict(json.loads(self.files.get("launch.json", "{}")))

    def own_files(self) -> dict[str, str]:
        """The files that the user gave, without those that trainer_infra adds."""
        return {path: text for path, text in self.files.items() if not path.startswith(OURS)}

    def digest(self) -> str:
        """Eight hex digits of a sha256 over the content, the same in every process."""
        return content_hash({key: each for key, each in self.to_wire().items() if key != "origin"})

    def of_the_user(self) -> JSONDict:
        """The wire form without what trainer_infra itself adds, and without where packages and code are kept.

        A new release of ours brings another launcher, and a comment or a line more changes nothing;
        neither is a reason to train again (design rule 2): a driver that finds this part
        unchanged keeps the code the job was born with.
        """
        mine = {path: meaning_of(path, text) for path, text in self.own_files().items()}
        wire = {key: each for key, each in self.to_wire().items() if key not in PLACES}
        stored = {"stored": self.stored.meaning} if self.stored else {}
        return {**wire, "files": mine, **stored}


@lru_cache(maxsize=1024)
def meaning_of(path: str, text: str) -> str:
    """What a file says: of Python its syntax tree, which has no comments, blank lines and layout."""
    tree = syntax_of(text) if path.endswith(".py") else None
    try:
        return text if tree is None else ast.dump(tree)
    except (RecursionError, MemoryError):
        return text


def parsed(text: str) -> ast.Module:
    """The syntax tree of a Python file; raises what `ast.parse` does."""
    # Threads that parse at the same time disturb one another (CPython 3.11: a SystemError). A byte order mark
    # may begin a file of Python, and Python refuses it in a text.
    with _PARSING:
        return ast.parse(text.removeprefix("\ufeff"))


def syntax_of(text: str) -> ast.Module | None:
    """The syntax tree of a Python file; None of one that Python does not read."""
    try:
        return parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def shown_path(path: str | Path) -> str:
    """A path from the working directory when it lies there."""
    full = Path(path)
    here = Path.cwd()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)
