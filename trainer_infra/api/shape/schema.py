"""What is wrong with a JSON object, judged by the published schema of its kind.

The schemas are data under schemas/, made by tools/schemas.py from the CRDs of Trainer v2.3.0 and
JobSet v0.12.0, and of Trainer's older releases, and read on first use.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path as File
from typing import Any, Final

from trainer_infra.api import fields_elsewhere
from trainer_infra.api.finding import FieldFinding, Path
from trainer_infra.api.shape.object_meta import OBJECT_META, TRAIN_JOB_META
from trainer_infra.api.shape.walk import UNKNOWN_FIELD, EnoughFindings, Schema, Walk
from trainer_infra.errors import MEND_FIRST, MOST_PROBLEMS
from trainer_infra.names import API_VERSION, JOBSET, JOBSET_API_VERSION, TRAIN_JOB

_FOLDER: Final = File(__file__).parents[1] / "schemas"
VERSIONS: Final = ("2.0", "2.1", "2.2", "2.3")
"""Releases of Trainer whose schemas are known, the oldest first; ours is the newest."""
_MORE: Final = f"has more problems than these {MOST_PROBLEMS}"
STATUS: Final[Schema] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""What controllers write is not judged."""


def schema_findings(
    value: object, name: str, version: str = VERSIONS[-1]
) -> tuple[FieldFinding, ...]:
    """Everything wrong with an object, in the order in which its fields are written.

    Args:
        value: the JSON object; not changed.
        name: TrainJob, TrainingRuntime, ClusterTrainingRuntime, JobSet or JobSetSpec.
        version: the release of Trainer; older ones know only its own kinds.
    """
    kinds, shared = published_schema(version)
    found = in_order(Walk(shared), value, kinds[name])
    return tuple(
        replace(each, fix=_fix(each, name, version))
        if each.what == UNKNOWN_FIELD or each.path == fields_elsewhere.PROCESSES
        else each
        for each in found
    )


def _fix(unknown: FieldFinding, kind: str, version: str) -> str:
    """What to do about a field that a release does not have."""
    path = tuple(each for each in unknown.path if isinstance(each, str))
    if unknown.what != UNKNOWN_FIELD:
        return unknown.fix or fields_elsewhere.processes(unknown.got)
    newer = (each for each in VERSIONS if each > version and _has(each, kind, path))
    first = next(newer, "")
    words = f"Trainer {first} and newer have it, {version} does not" if first else ""
    known = fields_elsewhere.successor(kind, path, version) or words
    if not known and kind == TRAIN_JOB:
        known = fields_elsewhere.place(path, lambda field: _has(version, kind, field))
    return known or unknown.fix


def _has(version: str, kind: str, path: tuple[str, ...]) -> bool:
    """Whether a release has a field; positions in lists are left out of its path."""
    kinds, shared = published_schema(version)
    here: Any = kinds.get(kind)
    for key in path:
        while here is not None and ("$ref" in here or "items" in here):
            here = shared[here["$ref"]] if "$ref" in here else here["items"]
        here = here and here.get("properties", {}).get(key)
    return here is not None


def in_order(walk: Walk, value: object, schema: Schema) -> tuple[FieldFinding, ...]:
    """What a walk along a schema finds, in the order in which the fields are written.

    Of more than `MOST_PROBLEMS` the first ones, and one that says that there are more.
    """
    more: tuple[FieldFinding, ...] = ()
    try:
        walk.check(value, schema, ())
    except EnoughFindings:
        more = (FieldFinding((), _MORE, fix=MEND_FIRST),)
    return (*sorted(walk.found, key=lambda finding: _position(value, finding.path)), *more)


@cache
def published_schema(version: str = VERSIONS[-1]) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas by kind, and the subschemas that they share by name (`$ref`); read only."""
    file = "published.json" if version == VERSIONS[-1] else f"trainer-{version}.json"
    data = json.loads((_FOLDER / file).read_text(encoding="utf-8"))
    shared: dict[str, Schema] = data["shared"]
    kinds = {
        name: schema
        if name == "JobSetSpec"
        else _whole(name, shared.get(schema.get("$ref"), schema))
        for name, schema in data["kinds"].items()
    }
    if "JobSetSpec" not in kinds:
        return kinds, shared
    # Its CRD takes one without a spec, which asks for nothing.
    spec = {"spec": kinds["JobSetSpec"], "status": STATUS}
    kinds[JOBSET] = {
        "type": "object",
        "required": ["metadata"],
        "properties": spec | head(JOBSET, JOBSET_API_VERSION),
    }
    return kinds, shared


def _whole(kind: str, published: Schema) -> Schema:
    """A kind's schema with what a CRD leaves to the API server: type and object metadata."""
    metadata = TRAIN_JOB_META if kind == TRAIN_JOB else OBJECT_META
    return published | {
        "required": ["metadata", "spec"],
        "properties": published["properties"] | head(kind, API_VERSION) | {"metadata": metadata},
    }


def head(kind: str, *versions: str) -> dict[str, Schema]:
    """The fields that every object of a kind has."""
    return {
        "apiVersion": {"type": "string", "enum": [*versions]},
        "kind": {"type": "string", "enum": [kind]},
        "metadata": OBJECT_META,
    }


def _position(value: Any, path: Path) -> list[int]:
    """Where a path is written: the index on each level, -1 for what is not there."""
    position = []
    for part in path:
        keys: list[Any] = [*value] if isinstance(value, Mapping) else [*range(len(value))]
        position.append(keys.index(part) if part in keys else -1)
        if position[-1] < 0:
            break
        value = value[part]
    return position
