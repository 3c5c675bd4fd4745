"""What is valid is kept as it is: from_wire, to_wire, load and dump lose nothing."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer_infra.api import manifests, yamltext
from trainer_infra.api.base import KubeModel, ObjectMeta
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.api.shape import schema
from trainer_infra.api.trainjob import RuntimeRef, Trainer, TrainJob, TrainJobSpec, TrainJobStatus
from trainer_infra.errors import InvalidInput

JSON = dict[str, Any]

PUBLISHED = json.loads(
    (Path(manifests.__file__).parent / "schemas" / "published.json").read_text(encoding="utf-8")
)
QUANTITIES = [1, "1", 1.5, "1.5", "500m", "16Gi", "1e3", ".5", "-1", 0]
DEEPEST = 8
TEXTS = [
    "a",
    "trainer.kubeflow.org/trainjob-controller",
    "s3://bucket/key",
    "InOrder",
    "2026-01-01",
    "y",
    "0755",
    "1e3",
]


def resolved(found: JSON) -> JSON:
    whole: JSON = PUBLISHED["shared"][found["$ref"]] if "$ref" in found else found
    return whole


def objects(schema: JSON, depth: int) -> st.SearchStrategy[Any]:
    fields = schema.get("properties", {})
    required = set(schema.get("required", ()))
    others = schema.get("additionalProperties")
    if others:
        return st.dictionaries(st.sampled_from(["a", "b-c", "d.io/e"]), values(others, depth))
    least = schema.get("minProperties", 0)
    optional = sorted(set(fields) - required) if depth < DEEPEST or least else []
    sets = st.sets(st.sampled_from(optional or ["none"]), min_size=least, max_size=3)
    chosen = sets if optional else st.just(set())
    return chosen.flatmap(
        lambda names: st.fixed_dictionaries(
            {name: values(fields[name], depth + 1) for name in sorted(required | names)}
        )
    )


def values(schema: JSON, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that fit a published schema, mostly; rules between fields may still refuse them."""
    schema = resolved(schema)
    if "x-kubernetes-int-or-string" in schema:
        return st.sampled_from(QUANTITIES if "pattern" in schema else [1, "http"])
    if schema["type"] == "object":
        return objects(schema, depth)
    if schema["type"] == "array":
        return st.lists(values(schema["items"], depth), min_size=1, max_size=2)
    return scalars(schema)


def scalars(schema: JSON) -> st.SearchStrategy[Any]:
    if schema["type"] == "boolean":
        return st.booleans()
    if schema["type"] == "integer":
        return st.integers(schema.get("minimum", 1), min(schema.get("maximum", 9), 9))
    if schema.get("format") == "date-time":
        return st.just("2026-01-31T12:00:00Z")
    texts = ["Complete"] if "pattern" in schema else TEXTS
    return st.sampled_from(schema.get("enum", texts))


def wire(kind: str) -> st.SearchStrategy[JSON]:
    fields = resolved(PUBLISHED["kinds"][kind])["properties"]
    parts = {name: values(fields[name]) for name in ("spec", "status") if name in fields}
    head = {
        "apiVersion": st.just("trainer.kubeflow.org/v1alpha1"),
        "kind": st.just(kind),
        "metadata": st.sampled_from([{"name": "a"}, {"generateName": "a-", "labels": {"on": "y"}}]),
    }
    return st.fixed_dictionaries(head | parts)


@settings(max_examples=100, derandomize=True)
@given(st.sampled_from(sorted(PUBLISHED["kinds"].keys() - {"JobSetSpec"})).flatmap(wire))
def test_a_valid_object_is_kept_verbatim_and_a_refused_one_unchanged(value: JSON) -> None:
    before = copy.deepcopy(value)
    if schema.schema_findings(value, value["kind"]):
        with pytest.raises(InvalidInput):
            manifests.parse_object(value)
        assert value == before
        return
    read = manifests.stored_object(value)
    assert (read.to_wire(), value) == (before, before)
    if not manifests.object_findings(value):
        (document,) = manifests.load_documents(yamltext.dump_yaml([value]), "f.yaml")
        assert document.object == manifests.parse_object(value) == read


def test_quantities_stay_as_they_are_written(job: JSON) -> None:
    resources = {"limits": {"cpu": 1, "memory": "1Gi", "x.io/a": "1", "x.io/b": "1.5"}}
    job["spec"]["trainer"] = {"resourcesPerNode": resources}
    kept = TrainJob.from_wire(job).to_wire()
    assert json.dumps(kept) == json.dumps(job)


def test_a_fraction_needs_quotes_as_it_does_for_an_api_server(job: JSON) -> None:
    job["spec"]["trainer"] = {"resourcesPerNode": {"limits": {"cpu": 1.5}}}
    with pytest.raises(InvalidInput) as error:
        TrainJob.from_wire(job)
    assert str(error.value) == (
        "spec.trainer.resourcesPerNode.limits.cpu: must not be a fraction without quotes, got 1.5; "
        'write "1.5"'
    )


def test_pod_fields_that_have_no_type_here_are_kept(runtime: JSON) -> None:
    (replicated,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    pod = replicated["template"]["spec"]["template"]["spec"]
    pod["containers"][0]["livenessProbe"] = {"httpGet": {"port": "http"}, "periodSeconds": 3}
    pod["hostUsers"] = False
    pod["volumes"] = [{"name": "v", "emptyDir": {}}]
    assert ClusterTrainingRuntime.from_wire(runtime).to_wire() == runtime


def test_fields_that_are_null_count_as_not_set(job: JSON) -> None:
    job["metadata"]["creationTimestamp"] = None
    job["spec"]["trainer"] = {"env": None, "numNodes": 2}
    job["status"] = None
    kept = TrainJob.from_wire(job)
    assert kept.to_wire() == {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}},
    }


def test_empty_objects_and_lists_are_not_dropped(runtime: JSON, job: JSON) -> None:
    runtime["spec"]["mlPolicy"] = {"torch": {}}
    job["spec"]["trainer"] = {"env": [], "command": []}
    assert ClusterTrainingRuntime.from_wire(runtime).to_wire() == runtime
    assert TrainJob.from_wire(job).to_wire() == job


def test_api_version_and_kind_are_written_first_even_when_nobody_gave_them() -> None:
    made = TrainingRuntime.from_wire({"spec": {"mlPolicy": {}}, "metadata": {"name": "r"}})
    assert list(made.to_wire().items()) == [
        ("apiVersion", "trainer.kubeflow.org/v1alpha1"),
        ("kind", "TrainingRuntime"),
        ("metadata", {"name": "r"}),
        ("spec", {"mlPolicy": {}}),
    ]


def test_python_names_become_wire_names() -> None:
    trainer = Trainer(command=["python"], num_nodes=2, resources_per_node=None)  # type: ignore[arg-type]  # a list becomes a tuple
    job = TrainJob(
        metadata=ObjectMeta(name="digits", namespace=None),
        spec=TrainJobSpec(runtime_ref=RuntimeRef(name="jax"), trainer=trainer),
    )
    assert job.to_wire() == {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits"},
        "spec": {
            "runtimeRef": {"name": "jax"},
            "trainer": {"command": ["python"], "numNodes": 2},
        },
    }


def test_changing_a_wire_form_changes_no_model(job: JSON) -> None:
    job["spec"]["trainer"] = {"env": [{"name": "A", "value": "1"}]}
    read = TrainJob.from_wire(job)
    read.to_wire()["spec"]["trainer"]["env"][0]["value"] = "2"
    job["spec"]["trainer"]["env"][0]["value"] = "3"
    assert read.to_wire()["spec"]["trainer"]["env"] == [{"name": "A", "value": "1"}]


def model_fields(schema: JSON, model: type[KubeModel], path: str) -> list[str]:
    """Where a model and its schema do not have the same fields."""
    properties = resolved(schema).get("properties", {})
    aliases = {field.alias: field for field in model.model_fields.values()}
    wrong = [f"{path}.{name}" for name in properties.keys() ^ aliases.keys()]
    for name, field in aliases.items():
        for inner in inner_models(field.annotation):
            below = resolved(properties[str(name)])
            if below["type"] == "array":
                below = below["items"]
            if inner is not ObjectMeta:
                wrong += model_fields(below, inner, f"{path}.{name}")
    return wrong


def inner_models(annotation: Any) -> list[type[KubeModel]]:
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, KubeModel) else []
    return [model for part in getattr(annotation, "__args__", ()) for model in inner_models(part)]


@pytest.mark.parametrize("kind", [TrainJob, TrainingRuntime, ClusterTrainingRuntime])
def test_models_have_every_field_of_the_published_schema(kind: type[KubeModel]) -> None:
    assert model_fields(PUBLISHED["kinds"][kind.__name__], kind, kind.__name__) == []


def test_a_status_is_typed(job: JSON) -> None:
    job["status"] = {
        "conditions": [
            {
                "type": "Complete",
                "status": "True",
                "reason": "AllJobsCompleted",
                "message": "jobset completed successfully",
                "lastTransitionTime": "2026-01-31T12:00:00Z",
            }
        ],
        "jobsStatus": [
            {"name": "node", "ready": 0, "succeeded": 1, "failed": 0, "active": 0, "suspended": 0}
        ],
        "trainerStatus": {
            "metrics": [{"name": "loss", "value": "0.1"}],
            "lastUpdatedTime": "2026-01-31T12:00:00Z",
        },
    }
    read = TrainJob.from_wire(job)
    assert isinstance(read.status, TrainJobStatus)
    assert read.to_wire() == job
