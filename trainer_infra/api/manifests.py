"""Manifests: YAML text and JSON objects become typed kinds; the one place that chooses a class by kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra.api import yaml_source
from trainer_infra.api.finding import FieldFinding, Path, is_within
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.shape import schema, workloads
from trainer_infra.api.shape.form import at
from trainer_infra.api.shape.walk import FormWalk
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.names import API_VERSION
from trainer_infra.words import listed

KINDS: Final[Mapping[str, type[TrainJob | Runtime]]] = {
    each.schema_name: each for each in (TrainJob, TrainingRuntime, ClusterTrainingRuntime)
}
"""The classes by kind."""
_KNOWN: Final = f"known kinds are {listed(KINDS, 'and')}"


@dataclass(frozen=True, slots=True)
class ManifestDocument:
    """One object of a manifest."""

    object: TrainJob | Runtime
    source: str
    """The manifest's name, as given to `load_documents`."""
    line: int
    """Line on which the object begins, from 1."""


def load_documents(text: str, source: str) -> tuple[ManifestDocument, ...]:
    """The objects of a manifest, of a file `source`: YAML documents or JSON; `List` objects are unfolded.

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
    """The typed object of a JSON object that a user wrote at a place, by its apiVersion and kind.

    Raises:
        InvalidInput: with every problem found; one that names the known kinds when it is another.
    """
    return _typed(value, object_findings(value), where)


def stored_object(value: Mapping[str, Any], where: str = "") -> TrainJob | Runtime:
    """The typed object of one that was stored: what no pod could start of is not refused any more.

    Raises:
        InvalidInput: as `parse_object`, for what the schema of its kind refuses.
    """
    return _typed(value, _schema_findings(value), where)


def _typed(
    value: Mapping[str, Any], found: tuple[FieldFinding, ...], where: str
) -> TrainJob | Runtime:
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
    """Everything wrong with a JSON object, by field; that its kind is unknown goes before all else.

    Of a runtime that is what `check` says, too: its schema, and what a cluster would refuse of its pods. Those of
    a TrainJob are judged where they are rendered.
    """
    found = _schema_findings(value)
    kind = str(value.get("kind")) if isinstance(value, Mapping) else ""
    part = workloads.judged_part(kind, "") if kind in KINDS else None
    if part is None:
        return found
    walk = FormWalk()
    walk.check(value, at(*part), ())
    refused = [each.path for each in found]
    return (*found, *(each for each in walk.standing() if not is_within(each.path, refused)))


def _schema_findings(value: object) -> tuple[FieldFinding, ...]:
    if not isinstance(value, Mapping):
        return (FieldFinding((), "must be an object with apiVersion and kind", value),)
    kind = value.get("kind")
    if kind is None:
        return (FieldFinding(("kind",), "is required", fix=_KNOWN),)
    if not isinstance(kind, str) or kind not in KINDS:
        return (FieldFinding(("kind",), "is unknown", kind, _KNOWN),)
    found = schema.schema_findings(value, kind)
    if "apiVersion" in value:
        return found
    return (FieldFinding(("apiVersion",), "is required", fix=f"write {API_VERSION}"), *found)
