"""Which runtime each TrainJob of some documents runs on: one of the same documents, or shipped."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from trainer_infra import catalog, names
from trainer_infra.api.manifests import ManifestDocument
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.catalog.runtime_key import RuntimeKey, runtime_key
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.render import runtime_ref
from trainer_infra.render.deviation import ALL, Deviation


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
            raise InvalidInput([_missing(name, wanted.namespace)])
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


def _missing(name: str, namespace: str) -> Problem:
    return Problem(
        "spec.runtimeRef.name",
        f"names a TrainingRuntime that is not in the documents of namespace {namespace}",
        got=name,
        fix="add it, or name a ClusterTrainingRuntime",
    )


def _about(document: ManifestDocument) -> str:
    return f"{document.object.kind} {document.object.metadata.name}"


def _place(document: ManifestDocument) -> str:
    return f"{document.source}:{document.line}"


def _at(problem: Problem, document: ManifestDocument) -> Problem:
    return replace(problem, where=f"{_place(document)}: {_about(document)}")
