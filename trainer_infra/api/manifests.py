"""Manifests: YAML text and JSON objects become typed kinds.

The only place that chooses a class by apiVersion and kind.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra.api import yaml_source
from trainer_infra.api.finding import FieldFinding, Path
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.shape import schema
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.names import (
    API_VERSION,
    CLUSTER_TRAINING_RUNTIME,
    TRAIN_JOB,
    TRAINING_RUNTIME,
)

KINDS: Final[
    Mapping[str, type[TrainJob] | type[TrainingRuntime] | type[ClusterTrainingRuntime]]
] = {
    TRAIN_JOB: TrainJob,
    TRAINING_RUNTIME: TrainingRuntime,
    CLUSTER_TRAINING_RUNTIME: ClusterTrainingRuntime,
}
"""The classes by kind."""

_KNOWN: Final = f"known kinds are {TRAIN_JOB}, {TRAINING_RUNTIME} and {CLUSTER_TRAINING_RUNTIME}"

_API: Final = f"write {API_VERSION}"


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One object of a manifest."""

    object: TrainJob | Runtime
    source: str
    """The manifest's name, as given to `load_documents`."""
    line: int
    """Line on which the object begins, from 1."""


def load_documents(text: str, source: str) -> tuple[ManifestDocument, ...]:
    """The objects of a manifest: YAML documents or JSON; `List` objects are unfolded.

    Args:
        text: the manifest.
        source: what problems and documents name as its file.

    Raises:
        InvalidInput: with all problems of all documents; `where` is `file:line:column`.
    """
    sources = yaml_source.read_yaml(text, source)
    problems = [problem for each in sources for problem in _problems(each)]
    if problems:
        raise InvalidInput(problems)
    return tuple(
        ManifestDocument(_model(value), source, each.line_of(path))
        for each in sources
        for path, value in _objects(each.value)
    )


def parse_object(value: Mapping[str, Any], where: str = "") -> TrainJob | Runtime:
    """The typed object of a JSON object, by its apiVersion and kind.

    Args:
        value: the JSON object; it is not changed.
        where: what problems name as their place.

    Raises:
        InvalidInput: with every problem found; one that names the known kinds when it is another.
    """
    found = object_findings(value)
    if found:
        raise InvalidInput(finding.problem(where) for finding in found)
    return _model(value)


def _model(value: Mapping[str, Any]) -> TrainJob | Runtime:
    return KINDS[value["kind"]].of_valid(value)


def _objects(value: Any) -> Iterator[tuple[Path, Any]]:
    """The objects of a document and their paths in it."""
    items = value.get("items") if isinstance(value, Mapping) else None
    if isinstance(items, list) and value.get("kind") == "List":
        yield from ((("items", position), item) for position, item in enumerate(items))
    else:
        yield (), value


def _problems(source: Source) -> list[Problem]:
    """Everything wrong with a document, by line; what its YAML hides is not reported twice."""
    found = {finding.path: finding for finding in source.findings}
    for path, value in _objects(source.value):
        for finding in object_findings(value):
            whole = replace(finding, path=(*path, *finding.path))
            found.setdefault(whole.path, whole)
    by_line = sorted(found.values(), key=lambda finding: source.place(finding.path))
    return [source.problem(finding) for finding in by_line]


def object_findings(value: object) -> tuple[FieldFinding, ...]:
    """Everything wrong with a JSON object, by field; that its kind is unknown goes before all else."""
    if not isinstance(value, Mapping):
        return (FieldFinding((), "must be an object with apiVersion and kind", value),)
    kind = value.get("kind")
    if kind is None:
        return (FieldFinding(("kind",), "is required", fix=_KNOWN),)
    if not isinstance(kind, str) or kind not in KINDS:
        return (FieldFinding(("kind",), "is unknown", kind, _KNOWN),)
    missing = (
        () if "apiVersion" in value else (FieldFinding(("apiVersion",), "is required", fix=_API),)
    )
    return missing + schema.schema_findings(value, kind)
