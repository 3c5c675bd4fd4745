"""Strategies for any TrainJob and runtime that the published schemas allow.

They follow the schema data, so a field that a new release adds is generated without a change here.
Names come from a small pool in which the meaningful ones are frequent.

Values are drawn one by one from a few small strategies that are kept. A strategy for each object,
built of those of its fields, is built and validated anew in each draw, which is 95 % of the time.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import trainer_infra

Schema = Mapping[str, Any]

_DATA = json.loads(
    (Path(trainer_infra.__file__).parent / "api" / "schemas" / "published.json").read_text()
)
NAMES = ("node", "launcher", "dataset-initializer", "model-initializer", "initializer", "a")
TEXTS = ("", "a", "trainer", "node", "tune", "run", "hf://a/b", "8", "PET_NNODES", "True")
QUANTITIES = (1, 2, "1", "500m", "2Gi", "1e3", "0")
DEPTH = 13
"""Levels down to which fields that may be left out are generated."""
ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
KEYS: Final = ("cpu", "nvidia.com/gpu", "memory", ANCESTOR, "a")
"""Of maps whose keys are free."""


@st.composite
def train_jobs(draw: DrawFn) -> dict[str, Any]:
    """A TrainJob named `tj` on a runtime named `r`."""
    return _train_job(_value(draw, _spec("TrainJob"), 0))


@st.composite
def runtimes(draw: DrawFn) -> dict[str, Any]:
    """A ClusterTrainingRuntime named `r`."""
    return _runtime(_value(draw, _spec("ClusterTrainingRuntime"), 0))


def value_of(draw: DrawFn, schema: Schema) -> Any:
    """What another schema allows; it has no references."""
    return _value(draw, schema, 0)


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


@cache
def _one_of(values: tuple[Any, ...]) -> SearchStrategy[Any]:
    return st.sampled_from(values)


@cache
def _up_to(least: int, most: int) -> SearchStrategy[int]:
    return st.integers(least, most)


@cache
def _some_of(keys: tuple[str, ...], least: int) -> SearchStrategy[list[str]]:
    """Up to four of the keys; the frequent ones more often."""
    pool = [*keys, *[key for key in keys if key in FREQUENT] * 3]
    return st.lists(st.sampled_from(pool), min_size=least, max_size=4, unique=True)


def _value(draw: DrawFn, schema: Schema, depth: int) -> Any:
    schema = _resolved(schema)
    scalar = _scalar(schema)
    if scalar is not None:
        return draw(scalar)
    if schema.get("type") == "array":
        return _array(draw, schema, depth)
    return _object(draw, schema, depth) if "properties" in schema else _map(draw, schema, depth)


def _scalar(schema: Schema) -> SearchStrategy[Any] | None:
    """What it is drawn from; None for an array or an object."""
    if schema.get("x-kubernetes-int-or-string"):
        return _one_of(QUANTITIES)
    if "enum" in schema:
        return _one_of(tuple(schema["enum"]))
    match schema.get("type"):
        case "string":
            return _one_of(_texts(schema))
        case "integer" | "number":
            return _up_to(schema.get("minimum", -1), min(schema.get("maximum", 4), 4))
        case "boolean":
            return st.booleans()
        case _:
            return None


def _map(draw: DrawFn, schema: Schema, depth: int) -> dict[str, Any]:
    values = schema.get("additionalProperties")
    keys = [draw(_one_of(KEYS)) for _ in range(draw(_up_to(0, 2)))]
    return {
        key: _value(draw, values, depth + 1) if isinstance(values, dict) else {} for key in keys
    }


def _object(draw: DrawFn, schema: Schema, depth: int) -> dict[str, Any]:
    required, fields = schema.get("required", []), schema["properties"]
    # Metadata is free in the published schema; ours knows its labels and annotations.
    optional = tuple(key for key in fields if key not in required and key != "status")
    keys: list[str] = []
    if optional and depth < DEPTH:
        keys = draw(_some_of(optional, max(0, schema.get("minProperties", 0) - len(required))))
        spine = [key for key in optional if key in SPINE]
        keys = [*keys, *(spine if draw(_one_of((True, True, True, False))) else ())]
    for group in ONE_OF:
        several = [key for key in keys if key in group]
        keys = [key for key in keys if key not in several[1:]]
    return {
        key: _field(draw, key, fields[key], depth + 1) for key in dict.fromkeys([*required, *keys])
    }


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
LABELS: Final = st.fixed_dictionaries(
    {}, optional={ANCESTOR: st.sampled_from(["trainer", *NAMES]), "a": st.just("b")}
)
METADATA: Final = st.fixed_dictionaries({}, optional={"labels": LABELS, "annotations": LABELS})


def _field(draw: DrawFn, key: str, schema: Schema, depth: int) -> Any:
    if key == "metadata":
        return draw(METADATA)
    if key in {"name", "jobName"}:
        return draw(_one_of(NAMES))
    if key == "manager":
        return draw(_one_of(("acme.io/a", "acme.io/b", "plain")))
    if key in {"replicatedJobs", "containers"}:
        return _array(draw, {"minItems": 1, **_resolved(schema)}, depth)
    return _value(draw, schema, depth)


def _array(draw: DrawFn, schema: Schema, depth: int) -> list[Any]:
    """Up to two items; of those that may not be there twice the first."""
    count = draw(_up_to(schema.get("minItems", 0), 2))
    items = [_value(draw, schema["items"], depth + 1) for _ in range(count)]
    keys = schema.get("x-kubernetes-list-map-keys")
    if not keys and schema.get("x-kubernetes-list-type") != "set":
        return items
    found = {_values(keys, each) if keys else str(each): each for each in reversed(items)}
    return [*reversed(found.values())]


def _values(keys: list[str], item: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(item.get(key)) for key in keys)


def _texts(schema: Schema) -> tuple[str, ...]:
    if schema.get("format") == "date-time":
        return ("2026-01-01T00:00:00Z",)
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
    return tuple(text for text in TEXTS if least <= len(text) <= most)
