"""Paths -> documents: files, folders and stdin.

Called by `cli.check`. What cannot be read is a sentence beside what could be: one broken file hides
nothing.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra.errors import InvalidInput
from trainer_infra.review import documents
from trainer_infra.review.documents import Document

SUFFIXES: Final = (".yaml", ".yml", ".json")
STDIN: Final = "-"
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Read:
    """What was found."""

    documents: tuple[Document, ...] = ()
    """In the order of the paths, and in each file as written."""
    problems: tuple[str, ...] = ()
    """What could not be read, a sentence each."""


def read(paths: Sequence[str]) -> Read:
    """The objects below all paths."""
    return joined(_read(each) for each in paths)


def joined(parts: Iterator[Read]) -> Read:
    """All of them as one."""
    whole = tuple(parts)
    return Read(
        tuple(each for part in whole for each in part.documents),
        tuple(each for part in whole for each in part.problems),
    )


def _read(path: str) -> Read:
    if path == STDIN:
        return of_text(sys.stdin.read(), "stdin")
    where = Path(path)
    if not where.exists():
        return Read(problems=(f"{path}: is not there",))
    return joined(_file(each) for each in _files(where)) if where.is_dir() else _file(where)


def _files(folder: Path) -> Iterator[Path]:
    """The manifests of a folder and of the folders in it; hidden ones are passed over."""
    for each in sorted(folder.iterdir()):
        if each.is_dir() and not each.name.startswith(".") and each.name not in _SKIPPED:
            yield from _files(each)
        elif each.suffix in SUFFIXES and each.is_file():
            yield each


def _file(path: Path) -> Read:
    try:
        return of_text(path.read_bytes().decode("utf-8"), os.fspath(path))
    except OSError as error:
        return Read(problems=(f"{path}: cannot be read: {error.strerror}",))
    except UnicodeDecodeError as error:
        return Read(problems=(f"{path}: is no UTF-8 text: {error.reason}",))


def of_text(text: str, file: str) -> Read:
    """The objects of a text."""
    try:
        return Read(documents.read(text, file))
    except InvalidInput as error:
        return Read(problems=tuple(str(each) for each in error.problems))
