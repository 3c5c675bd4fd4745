"""Rules of admission on templates that others complete: runtimes, JobSets with claims, unknown values."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.apiserver.invalid_pods import valid_job
from tests.rules.test_unknown import on, one_unknown
from trainer_infra import catalog
from trainer_infra.rules import admission, shape, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.rule import AnyRule

JSON = Mapping[str, Any]
Told = tuple[str, tuple[str | int, ...]]

FIRST = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0)


def told(objects: Sequence[JSON], rules: Sequence[AnyRule] = admission.RULES) -> list[Told]:
    """Rules and paths of what is found in the objects."""
    subjects = tree.subjects_of(objects)
    around = world.world_of(subjects)
    chosen = [ConfiguredRule.default(each) for each in rules]
    verdicts = (each for subject in subjects for each in judge(subject, around, chosen))
    return [(each.chosen.rule.id, one.path) for each in verdicts for one in each.findings]


def jobset(pod: JSON, **spec: Any) -> JSON:
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"replicatedJobs": [job], **spec},
    }


def container(**fields: Any) -> JSON:
    return {"name": "node", "image": "registry.example.com/vision/train:v7", **fields}


@pytest.mark.parametrize("name", [each.name for each in catalog.RUNTIMES])
def test_nothing_is_wrong_with_what_is_shipped(name: str) -> None:
    assert told((on(name), catalog.get(name).to_wire())) == []
    assert told((on(name),)) == []


def test_a_value_that_is_not_known_makes_no_finding() -> None:
    template = {"spec": valid_job()}
    jobs = [{"name": "node", "template": template}]
    value = {**jobset({}), "spec": {"replicatedJobs": jobs}}
    assert told((value,)) == []
    unknown = list(one_unknown((value,)))
    assert len(unknown) > 200
    assert {path: told(others) for _, path, others in unknown if told(others)} == {}


def test_a_claim_of_the_jobset_is_a_volume_of_its_pods() -> None:
    pod = {"containers": [container(volumeMounts=[{"name": "data", "mountPath": "/data"}])]}
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"]}}
    assert told((jobset(pod, volumeClaimPolicies=[{"templates": [claim]}]),)) == []
    assert told((jobset(pod),)) == [("volume-mounts", (*FIRST, "volumeMounts", 0, "name"))]


def test_what_the_schema_refuses_is_said_once() -> None:
    pod = {"containers": [container(ports=[{"name": "a"}]), container()]}
    assert {rule for rule, _ in told((jobset(pod),), (*shape.RULES, *admission.RULES))} == {
        "schema"
    }


def test_what_a_patch_of_a_train_job_adds_is_found_in_the_patch() -> None:
    job = on("torch-distributed")
    mount = {"name": "data", "mountPath": "/data"}
    pod = {"spec": {"containers": [{"name": "node", "volumeMounts": [mount]}]}}
    patched = {"name": "node", "template": {"spec": {"template": pod}}}
    template = {"template": {"spec": {"replicatedJobs": [patched]}}}
    patch = {"manager": "example.com/team", "trainingRuntimeSpec": template}
    value = {**job, "spec": {**job["spec"], "runtimePatches": [patch]}}
    below = ("spec", "runtimePatches", 0, "trainingRuntimeSpec", "template", *FIRST)
    assert told((value,)) == [("volume-mounts", (*below, "volumeMounts", 0, "name"))]


def test_amounts_of_a_train_job_are_found_where_it_says_them() -> None:
    job = on("torch-distributed")
    trainer = {**job["spec"]["trainer"], "resourcesPerNode": {"limits": {"memory": "512m"}}}
    value = {**job, "spec": {**job["spec"], "trainer": trainer}}
    path = ("spec", "trainer", "resourcesPerNode", "limits", "memory")
    assert told((value,)) == [("quantities", path)]
