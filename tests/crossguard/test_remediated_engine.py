"""What a policy has mended is rendered again as the engine of the resource renders it."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.crossguard import declared_objects
from trainer_infra.crossguard.declared_objects import remedied_properties

KIND = "pulumi-python:trainer:TrainJob"


def properties(engine: str) -> dict[str, Any]:
    return {
        "name": "tj",
        "namespace": "team",
        "resource": "tj",
        "spec": {"runtimeRef": {"name": "torch-distributed"}},
        "runtime": catalog.get("torch-distributed").to_wire(),
        "owner": {"project": "p", "stack": "s", "urn": "urn:1"},
        "target": "kubernetes",
        "engine": engine,
        "rendered": {},
    }


@pytest.mark.parametrize(
    ("engine", "roles"),
    [
        ("provider", ["ConfigMap-runtime-snapshot", "JobSet"]),
        ("controller", ["ConfigMap-runtime-snapshot", "JobSet", "TrainJob"]),
    ],
)
def test_the_objects_are_those_of_the_engine(engine: str, roles: list[str]) -> None:
    made = remedied_properties(KIND, properties(engine), ())
    assert made is not None
    assert sorted(made["rendered"]) == roles
    env = made["rendered"]["JobSet"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    (container,) = env["spec"]["containers"]
    assert [each["name"] for each in container["env"]].count("TRAINER_INFRA_REPORT") == 1


def test_a_stored_trainjob_is_judged_once() -> None:
    made = remedied_properties(KIND, properties("controller"), ())
    assert made is not None
    subject = declared_objects.train_job(made)
    assert sorted(each.raw["kind"] for each in subject.rendered) == ["ConfigMap", "JobSet"]
