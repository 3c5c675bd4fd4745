"""Files, folders and stdin -> the typed documents in them.

Called by `render` and `submission`. Problems of one file do not hide those of another: both come
back, and the caller adds what it finds in the documents that could be read.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra.api import manifests
from trainer_infra.api.manifests import Document
from trainer_infra.errors import InvalidInput, Problem

SUFFIXES: Final = (".yaml", ".yml", ".json")
STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in files."""

    documents: tuple[Document, ...]
    """In the order of the files, and in each file as written."""
    problems: tuple[Problem, ...]
    """Of every file and document that could not be read."""


def read(sources: Sequence[str]) -> Read:
    """The documents of files, of folders (their own files, sorted) and of `-`, which is stdin."""
    documents: list[Document] = []
    problems: list[Problem] = []
    for path in (each for source in sources for each in _paths(source)):
        try:
            documents += manifests.load(_text(path), "stdin" if path == STDIN else path)
        except InvalidInput as error:
            problems += error.problems
    return Read(tuple(documents), tuple(problems))


def _paths(source: str) -> list[str]:
    """The files of a folder; what is none, and an empty folder, stand for themselves."""
    if source == STDIN or not Path(source).is_dir():
        return [source]
    found = sorted(str(each) for each in Path(source).iterdir() if each.suffix in SUFFIXES)
    return found or [source]


def _text(path: str) -> str:
    if path != STDIN and Path(path).is_dir():
        raise _unreadable(path, f"is a folder without a file named *{', *'.join(SUFFIXES)}")
    try:
        return sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise _unreadable(path, f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"is no UTF-8 text: {error}") from error


def _unreadable(path: str, why: str) -> InvalidInput:
    return InvalidInput([Problem("", why, where=path)])
