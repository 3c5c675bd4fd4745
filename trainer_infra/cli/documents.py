"""Files, folders and stdin -> the typed documents in them, and the runtime that each TrainJob runs on.

One document's problems do not hide another's: what could be read comes back beside the problems,
and the caller adds what it finds in there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trainer_infra import catalog, names
from trainer_infra.api import manifests, yaml_source
from trainer_infra.api.manifests import ManifestDocument
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.api.yaml_source import Source
from trainer_infra.catalog.runtime_key import RuntimeKey, runtime_key
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.render import runtime_ref
from trainer_infra.render.deviation import ALL, Deviation
from trainer_infra.review import documents, source_objects, sources


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


@dataclass(frozen=True, slots=True)
class CommandDocuments:
    """The documents of one command."""

    documents: tuple[ManifestDocument, ...]
    """TrainJobs and runtimes in input order."""

    def jobs(self) -> tuple[TrainJob, ...]:
        """The TrainJobs in input order."""
        return tuple(each.object for each in self.documents if isinstance(each.object, TrainJob))

    def runtime_of(self, job: TrainJob) -> Runtime:
        """The runtime that a TrainJob names: of the documents, otherwise the catalog's.

        Raises:
            InvalidInput: It is in neither place.
        """
        _, kind, name = job.spec.runtime_ref.named
        wanted = runtime_key(kind, job.metadata.namespace, name)
        for each in self.documents:
            if not isinstance(each.object, TrainJob) and document_key(each) == wanted:
                return each.object
        if kind == names.TRAINING_RUNTIME:
            inside = f"the documents of namespace {wanted.namespace}"
            what = f"names a TrainingRuntime that is not in {inside}"
            fix = "add it, or name a ClusterTrainingRuntime"
            raise InvalidInput([Problem("spec.runtimeRef.name", what, name, fix)])
        return catalog.get(name)

    def problems(self, deviations: frozenset[Deviation] = ALL) -> Iterator[Problem]:
        """Objects without a name or there twice, and runtimes on which nothing can run."""
        seen = Counter[RuntimeKey]()
        for each in self.documents:
            if not each.object.metadata.name:
                what, fix = "is missing", "write one: generateName needs an API server"
                yield Problem("metadata.name", what, fix=fix, where=_place(each))
                continue
            seen[document_key(each)] += 1
            if seen[document_key(each)] == 2:  # noqa: PLR2004  said once
                what = f"{each.object.kind} is in the documents more than once"
                yield Problem(
                    "metadata.name", what, got=each.object.metadata.name, where=_place(each)
                )
            if not isinstance(each.object, TrainJob):
                found = runtime_ref.of_runtime(each.object, deviations)
                yield from (_at(problem, each) for problem in found)

    def located(self, job: ManifestDocument, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Problems of a TrainJob with the file and line of the object that each is about."""
        runtimes = {
            _about(each): each for each in self.documents if not isinstance(each.object, TrainJob)
        }
        for problem in problems:
            yield _at(problem, runtimes.get(problem.where, job))


def document_key(document: ManifestDocument) -> RuntimeKey:
    """Kind, namespace and name of a document's object, a TrainJob's too."""
    kind, metadata = document.object.kind, document.object.metadata
    return runtime_key(kind, metadata.namespace, metadata.name)


def _folder(path: str) -> ReadDocuments:
    found = sources.read_sources([path])
    problems = [Problem("", each) for each in found.problems]
    good: list[ManifestDocument] = []
    unread: set[str] = set()
    ours = [
        each
        for each in found.documents
        if str(each.value["apiVersion"]).partition("/")[0] == names.GROUP
    ]
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
        text, name = source_objects.text_of(path)
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


def _about(document: ManifestDocument) -> str:
    return f"{document.object.kind} {document.object.metadata.name}"


def _place(document: ManifestDocument) -> str:
    return f"{document.source}:{document.line}"


def _at(problem: Problem, document: ManifestDocument) -> Problem:
    return replace(problem, where=f"{_place(document)}: {_about(document)}")
