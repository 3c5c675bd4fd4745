"""Files, folders and stdin -> the typed documents in them.

One document's problems do not hide another's: what could be read comes back beside the problems,
and the caller adds what it finds in there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_infra import names
from trainer_infra.api import manifests, yaml_source
from trainer_infra.api.manifests import ManifestDocument
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.review import documents, sources


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """What was found in files."""

    documents: tuple[ManifestDocument, ...]
    """In the order of the files, and in each file as written."""
    problems: tuple[Problem, ...] = ()
    """Of every file and document that could not be read."""
    unread: frozenset[str] = frozenset()
    """Names of objects that have problems: an object that refers to one has no problem of its own."""


def read_documents(paths: Sequence[str]) -> ReadDocuments:
    """The documents of files, of `-`, which is stdin, and of what `check` finds in folders.

    A file holds objects of ours alone; other objects of a folder are passed over.
    """
    found = [_folder(each) if Path(each).is_dir() else _file(each) for each in paths]
    return ReadDocuments(
        tuple(document for each in found for document in each.documents),
        tuple(problem for each in found for problem in each.problems),
        frozenset(name for each in found for name in each.unread),
    )


def _folder(path: str) -> ReadDocuments:
    found = sources.read_sources([path])
    problems = [Problem("", each) for each in found.problems]
    good: list[ManifestDocument] = []
    unread: set[str] = set()
    ours = [each for each in found.documents if _is_ours(each.value)]
    if not ours and not problems:
        problems.append(Problem("", "the folder has no object of the trainer", where=path))
    for each in ours:
        wrong = _problems(each)
        if wrong:
            problems += wrong
            unread.update(_names(each.value))
        else:
            typed = manifests.parse_object(each.value)
            good.append(ManifestDocument(typed, each.file, each.place(each.at(()))[0]))
    return ReadDocuments(tuple(good), tuple(problems), frozenset(unread))


def _is_ours(value: Mapping[str, Any]) -> bool:
    return str(value["apiVersion"]).partition("/")[0] == names.GROUP


def _problems(document: documents.Document) -> list[Problem]:
    """Everything wrong with an object, by line; what its YAML hides is not reported twice."""
    found = {each.path: each for each in document.findings()}
    for each in manifests.object_findings(document.value):
        found.setdefault(each.path, each)
    places = [(document.place(document.at(each.path)), each) for each in found.values()]
    places.sort(key=lambda each: each[0])
    return [each.problem(f"{document.file}:{line}:{column}") for (line, column), each in places]


def _file(path: str) -> ReadDocuments:
    try:
        text, name = sources.text_of(path)
    except InvalidInput as error:
        return ReadDocuments((), tuple(error.problems))
    try:
        return ReadDocuments(manifests.load_documents(text, name))
    except InvalidInput as error:
        return _partly(text, name, error.problems)


def _partly(text: str, name: str, problems: Sequence[Problem]) -> ReadDocuments:
    """The documents of a text that have no problem, when others have some."""
    try:
        written = yaml_source.read_yaml(text, name)
    except InvalidInput:
        return ReadDocuments((), tuple(problems))
    good: list[ManifestDocument] = []
    unread: set[str] = set()
    for each in written:
        document = None if each.findings else _document(each, name)
        if document is None:
            unread.update(_names(each.value))
        else:
            good.append(document)
    return ReadDocuments(tuple(good), tuple(problems), frozenset(unread))


def _document(source: Source, name: str) -> ManifestDocument | None:
    try:
        return ManifestDocument(manifests.parse_object(source.value), name, source.line_of(()))
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
