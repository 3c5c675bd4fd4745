"""Strategies for any TrainJob and runtime that the published schemas allow.

They follow the schema data, so a field that a new release adds is generated without a change here.
Names come from a small pool in which the meaningful ones are frequent.
"""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import trainer_infra

Schema = Mapping[str, Any]

_DATA = json.loads(
    (Path(trainer_infra.__file__).parent / "api" / "schemas" / "published.json").read_text()
)
NAMES = ["node", "launcher", "dataset-initializer", "model-initializer", "initializer", "a"]
TEXTS = ["", "a", "trainer", "node", "tune", "run", "hf://a/b", "8", "PET_NNODES", "True"]
QUANTITIES = [1, 2, "1", "500m", "2Gi", "1e3", "0"]
DEPTH = 13
"""Levels down to which fields that may be left out are generated."""


def train_jobs() -> SearchStrategy[dict[str, Any]]:
    """TrainJobs named `tj` on a runtime named `r`."""
    return st.builds(_train_job, _of(_spec("TrainJob"), 0))


def runtimes() -> SearchStrategy[dict[str, Any]]:
    """ClusterTrainingRuntimes named `r`."""
    return st.builds(_runtime, _of(_spec("ClusterTrainingRuntime"), 0))


def _spec(kind: str) -> Schema:
    spec: Schema = _resolved(_DATA["kinds"][kind])["properties"]["spec"]
    return spec


def _resolved(schema: Schema) -> Schema:
    return {**_DATA["shared"][schema["$ref"]], **schema} if "$ref" in schema else schema


def _train_job(spec: dict[str, Any]) -> dict[str, Any]:
    reference = {"name": "r", "kind": "ClusterTrainingRuntime"}
    managed = {"managedBy": "trainer.kubeflow.org/trainjob-controller"}
    known = managed if "managedBy" in spec else {}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "ns"},
        "spec": {**spec, **known, "runtimeRef": reference},
    }


def _runtime(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "r"},
        "spec": spec,
    }


def _of(schema: Schema, depth: int) -> SearchStrategy[Any]:
    schema = _resolved(schema)
    if schema.get("x-kubernetes-int-or-string"):
        return st.sampled_from(QUANTITIES)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    made = {
        "object": _object,
        "array": _array,
        "string": _string,
        "integer": _integer,
        "boolean": lambda _schema, _depth: st.booleans(),
        "number": _integer,
    }
    return made[schema.get("type", "object")](schema, depth)


def _object(schema: Schema, depth: int) -> SearchStrategy[Any]:
    if "properties" not in schema:
        values = schema.get("additionalProperties")
        inner = _of(values, depth + 1) if isinstance(values, dict) else st.just({})
        keys = st.sampled_from(["cpu", "nvidia.com/gpu", "memory", _ANCESTOR, "a"])
        return st.dictionaries(keys, inner, max_size=2)
    required = schema.get("required", [])
    fields = schema["properties"]
    # Metadata is free in the published schema; ours knows its labels and annotations.
    optional = [key for key in fields if key not in required and key != "status"]
    most = 4 if depth < DEPTH else 0

    def chosen(keys: list[str]) -> SearchStrategy[Any]:
        for group in ONE_OF:
            several = [key for key in keys if key in group]
            keys = [key for key in keys if key not in several[1:]]
        return st.fixed_dictionaries(
            {key: _field(key, fields[key], depth + 1) for key in dict.fromkeys([*required, *keys])}
        )

    if not optional or not most:
        return chosen([])
    frequent = [key for key in optional if key in FREQUENT]
    spine = [key for key in optional if key in SPINE]
    pool = st.sampled_from([*optional, *frequent * 3])
    least = max(0, schema.get("minProperties", 0) - len(required))
    some = st.lists(pool, min_size=least, max_size=most, unique=True)
    whole = st.sampled_from([spine, spine, spine, []])
    return st.tuples(some, whole).flatmap(lambda keys: chosen([*keys[0], *keys[1]]))


_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
SPINE = {"template", "spec", "replicatedJobs"}
"""The way down to the containers, which most generated objects go."""
ONE_OF = ({"torch", "mpi", "jax", "xgboost", "flux"}, {"coscheduling", "volcano"})
"""Of these an object has one; that two are refused has tests of its own."""
FREQUENT = {
    "template", "spec", "mlPolicy", "trainer", "replicatedJobs", "containers", "runtimePatches",
    "trainingRuntimeSpec", "metadata", "podGroupPolicy", "numNodes", "resourcesPerNode", "volumes",
    "env", "volumeMounts", "resources", "initContainers", "dependsOn", "initializer", "labels",
}  # fmt: skip
"""Fields that rendering reads, generated more often than the others."""


def _field(key: str, schema: Schema, depth: int) -> SearchStrategy[Any]:
    if key == "metadata":
        labels = st.fixed_dictionaries(
            {}, optional={_ANCESTOR: st.sampled_from(["trainer", *NAMES]), "a": st.just("b")}
        )
        return st.fixed_dictionaries({}, optional={"labels": labels, "annotations": labels})
    if key in {"name", "jobName"}:
        return st.sampled_from(NAMES)
    if key == "manager":
        return st.sampled_from(["acme.io/a", "acme.io/b", "plain"])
    if key in {"replicatedJobs", "containers"}:
        return _array({"minItems": 1, **_resolved(schema)}, depth)
    return _of(schema, depth)


def _values(keys: list[str], item: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(item.get(key)) for key in keys)


def _array(schema: Schema, depth: int) -> SearchStrategy[Any]:
    keys = schema.get("x-kubernetes-list-map-keys")
    unique: Any = None
    if keys:
        unique = partial(_values, keys)
    elif schema.get("x-kubernetes-list-type") == "set":
        unique = str
    return st.lists(
        _of(schema["items"], depth + 1),
        min_size=schema.get("minItems", 0),
        max_size=2,
        unique_by=unique,
    )


def _string(schema: Schema, _depth: int) -> SearchStrategy[Any]:
    if schema.get("format") == "date-time":
        return st.just("2026-01-01T00:00:00Z")
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
    return st.sampled_from([text for text in TEXTS if least <= len(text) <= most])


def _integer(schema: Schema, _depth: int) -> SearchStrategy[Any]:
    return st.integers(schema.get("minimum", -1), min(schema.get("maximum", 4), 4))
