"""Files, folders and stdin -> the typed documents in them.

Called by `render` and `submission`. One document's problems do not hide another's: what could be
read comes back beside the problems, and the caller adds what it finds in there.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer_infra.api import manifests, yaml_source
from trainer_infra.api.manifests import Document
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput, Problem

SUFFIXES: Final = (".yaml", ".yml", ".json")
STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Read:
    """What was found in files."""

    documents: tuple[Document, ...]
    """In the order of the files, and in each file as written."""
    problems: tuple[Problem, ...] = ()
    """Of every file and document that could not be read."""
    unread: frozenset[str] = frozenset()
    """Names of objects that have problems: whoever refers to one has no problem of its own."""


def read(sources: Sequence[str]) -> Read:
    """The documents of files, of folders (their own files, sorted) and of `-`, which is stdin."""
    found = [_file(path) for source in sources for path in _paths(source)]
    return Read(
        tuple(document for each in found for document in each.documents),
        tuple(problem for each in found for problem in each.problems),
        frozenset(name for each in found for name in each.unread),
    )


def _paths(source: str) -> list[str]:
    """The files of a folder; what is none, and an empty folder, stand for themselves."""
    if source == STDIN or not Path(source).is_dir():
        return [source]
    found = sorted(str(each) for each in Path(source).iterdir() if each.suffix in SUFFIXES)
    return found or [source]


def _file(path: str) -> Read:
    name = "stdin" if path == STDIN else path
    try:
        text = _text(path)
    except OSError as error:
        return Read((), (Problem("", f"cannot be read: {error.strerror}", where=name),))
    except UnicodeDecodeError as error:
        return Read((), (Problem("", f"is not UTF-8 text: {error}", where=name),))
    try:
        return Read(manifests.load(text, name))
    except InvalidInput as error:
        return _partly(text, name, error.problems)


def _text(path: str) -> str:
    if path != STDIN and Path(path).is_dir():
        raise OSError(0, f"the folder has no file named *{', *'.join(SUFFIXES)}")
    return sys.stdin.read() if path == STDIN else Path(path).read_text(encoding="utf-8")


def _partly(text: str, name: str, problems: Sequence[Problem]) -> Read:
    """The documents of a text that have no problem, when others have some."""
    try:
        sources = yaml_source.read(text, name)
    except InvalidInput:
        return Read((), tuple(problems))
    good: list[Document] = []
    unread: set[str] = set()
    for each in sources:
        document = None if each.findings else _document(each, name)
        if document is None:
            unread.update(_names(each.value))
        else:
            good.append(document)
    return Read(tuple(good), tuple(problems), frozenset(unread))


def _document(source: Source, name: str) -> Document | None:
    try:
        return Document(manifests.parse(source.value), name, source.line_of(()))
    except InvalidInput:
        return None


def _names(value: Any) -> Iterator[str]:
    """The name of an object, or of those in a List, as far as it can be told."""
    items: Iterable[Any] = (value,)
    if isinstance(value, Mapping) and isinstance(value.get("items"), list):
        items = value["items"]
    for each in items:
        metadata = each.get("metadata") if isinstance(each, Mapping) else None
        if isinstance(metadata, Mapping) and isinstance(metadata.get("name"), str):
            yield metadata["name"]
