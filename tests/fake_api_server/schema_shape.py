"""How lists and maps of a kind are merged: by key, as a set, or as one piece. Pure.

For our kinds, JobSets, Jobs and Pods it is what their published schemas say (api/schemas); metadata
and conditions are the same for every kind; elsewhere maps are merged field by field and lists are
one piece.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.shape import schema as schemas

Schema = Mapping[str, Any]

_LIST: Final = "x-kubernetes-list-type"
_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP: Final = "x-kubernetes-map-type"


def _by(name: str) -> Schema:
    return {"type": "array", _LIST: "map", _KEYS: [name]}


_METADATA: Final = {
    "properties": {
        "finalizers": {"type": "array", _LIST: "set"},
        "ownerReferences": _by("uid"),
    }
}
_STATUS: Final = {
    "properties": {
        "conditions": _by("type"),
        "replicatedJobsStatus": _by("name"),
        "jobsStatus": _by("name"),
    }
}


@cache
def of(api_version: str, kind: str) -> Schema:
    """The schema of a kind, whole objects; read only."""
    known = schemas.published_schema()[0]
    properties: dict[str, Any] = {}
    if kind == names.JOBSET:
        properties = {"spec": known["JobSetSpec"]}
    elif api_version == names.API_VERSION and kind in known:
        properties = dict(known[kind]["properties"])
    elif kind in ("Job", "Pod"):
        # A JobSet's template has both, with the same rules.
        job = _down(known["JobSetSpec"], ("replicatedJobs", "[]", "template", "spec"))
        properties = {"spec": job if kind == "Job" else _down(job, ("template", "spec"))}
    return {"properties": {**properties, "metadata": _METADATA, "status": _STATUS}}


def _down(schema: Schema, path: tuple[str, ...]) -> Schema:
    for part in path:
        schema = items(schema) if part == "[]" else field(schema, part)
    return schema


def _resolved(schema: Schema) -> Schema:
    return schemas.published_schema()[1][schema["$ref"]] if "$ref" in schema else schema


def field(schema: Schema, name: str) -> Schema:
    """The schema of an object's field, or of a map's value; empty where none is known."""
    others = schema.get("additionalProperties")
    found = schema.get("properties", {}).get(name, others if isinstance(others, dict) else {})
    return _resolved(found)


def items(schema: Schema) -> Schema:
    """The schema of a list's items."""
    return _resolved(schema.get("items", {}))


def keys(schema: Schema) -> tuple[str, ...]:
    """The fields by which items of a list are told apart; empty for other lists."""
    return tuple(schema.get(_KEYS, ()))


def is_set(schema: Schema) -> bool:
    """Whether a list is a set of scalars."""
    return schema.get(_LIST) == "set"


def is_atomic_map(schema: Schema) -> bool:
    """Whether an object is changed as one piece."""
    return schema.get(_MAP) == "atomic"


def defaulted(value: Any, schema: Schema) -> Any:
    """A value with the defaults of its schema, which an API server stores."""
    if isinstance(value, Mapping):
        fields = {name: field(schema, name) for name in schema.get("properties", {})}
        added = {
            name: below["default"]
            for name, below in fields.items()
            if "default" in below and value.get(name) is None
        }
        there = {name: defaulted(item, field(schema, name)) for name, item in value.items()}
        return {**there, **added}
    if isinstance(value, list | tuple):
        return [defaulted(item, items(schema)) for item in value]
    return value
