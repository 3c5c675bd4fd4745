"""field-types: fields of pods and Jobs are of the types that the API server reads.

For kinds whose pods the rule `schema` does not judge. Types are those of the pods and Jobs in
JobSet's published schema; of it nothing else is asked, as the API server takes more than a CRD does.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import schema
from trainer_infra.api.finding import QUOTE, Path
from trainer_infra.rules import pods
from trainer_infra.rules.admission import job_specs
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UNKNOWN, is_list, is_mapping

Schema = Mapping[str, Any]

_JOB: Final = ("replicatedJobs", "[]", "template", "spec")
_TEMPLATE: Final = (*_JOB, "template")
_ENTRY: Final = "[]"
_WORDS: Final = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
}
_NUMBERS: Final = {"int32": 2**31, "int64": 2**63}


@dataclass(frozen=True, slots=True)
class TypedPlace:
    """What is to be of a type."""

    value: Value
    """Where."""
    at: tuple[str, ...]
    """Where its schema is in that of a JobSet's spec."""


def _places(subject: Subject) -> Iterator[TypedPlace]:
    found = job_specs.job_specs(subject)
    yield from (TypedPlace(each.spec, _JOB) for each in found)
    if not found:
        yield from (TypedPlace(each.template, _TEMPLATE) for each in pods.pods_of(subject))


def _check(place: TypedPlace, _context: Context[Parameters]) -> Iterator[Finding]:
    for path, what in _faults(place.value.raw, _schema(place.at), ()):
        value = place.value.at(*path)
        if value.is_noted():
            continue
        is_scalar = isinstance(value.raw, str | int | float) and "env" not in path
        fix = QUOTE if what == _WORDS["string"] and isinstance(value.raw, int | float) else ""
        yield value.finding(f"must be {what}", value.raw if is_scalar else None, fix)


@cache
def _schema(at: tuple[str, ...]) -> Schema:
    kinds, _ = schema.published_schema()
    found: Schema = kinds["JobSetSpec"]
    for key in at:
        found = _own(found)
        found = found["items"] if key == _ENTRY else found["properties"][key]
    return found


def _own(fields: Schema) -> Schema:
    shared: Schema = schema.published_schema()[1]
    found: Schema = shared[fields["$ref"]] if "$ref" in fields else fields
    return found


def _faults(raw: Any, fields: Schema, path: Path) -> Iterator[tuple[Path, str]]:
    """Paths of what is of another type, or not known, and what it must be."""
    fields = _own(fields)
    if raw is None:
        return
    if raw is UNKNOWN or not _is_of(raw, fields):
        yield path, _WORDS.get(fields.get("type", ""), "a number or a text")
    elif is_mapping(raw):
        known, others = fields.get("properties", {}), fields.get("additionalProperties")
        for key, each in raw.items():
            below = known.get(key, others)
            if isinstance(below, Mapping) and isinstance(key, str):
                yield from _faults(each, below, (*path, key))
    elif is_list(raw):
        for index, each in enumerate(raw):
            yield from _faults(each, fields["items"], (*path, index))


def _is_of(raw: Any, fields: Schema) -> bool:
    if "x-kubernetes-int-or-string" in fields:
        return isinstance(raw, str | int | float) and not isinstance(raw, bool)
    if fields.get("type") == "integer":
        end = _NUMBERS[fields.get("format", "int64")]
        return _is_whole(raw) and -end <= raw < end
    is_of = _IS_OF.get(fields.get("type", ""))
    return is_of is None or is_of(raw)


def _is_whole(raw: Any) -> bool:
    # Pulumi hands numbers over as floats.
    is_whole = isinstance(raw, int) or (isinstance(raw, float) and raw.is_integer())
    return is_whole and not isinstance(raw, bool)


_IS_OF: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": is_mapping,
    "array": is_list,
    "string": lambda raw: isinstance(raw, str),
    "boolean": lambda raw: isinstance(raw, bool),
}

RULE: Final = Rule(
    id="field-types",
    title="Fields of pods and Jobs are of the types that the API server reads",
    severity=Severity.HIGH,
    kinds=WORKLOADS - names.WITH_PODS,
    tags=("admission", "schema"),
    why="The API server cannot read the object, and refuses it as a whole.",
    fix="Write texts in quotes, and numbers and booleans without.",
    places=_places,
    check=_check,
)
