"""Variables of a TrainJob reach the pod as written, or as the reference's converter leaves them."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour

IP = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
FILE = {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}


def source(given: dict[str, Any], *, behaviour: Behaviour) -> Any:
    job = TrainJob.from_wire(
        {
            "metadata": {"name": "tj"},
            "spec": {
                "runtimeRef": {"name": "jax-distributed"},
                "trainer": {"env": [{"name": "A", "valueFrom": given}]},
            },
        }
    )
    before = job.to_wire()
    runtime = catalog.get("jax-distributed")
    *_, jobset = pipeline.render(job, runtime, behaviour=behaviour)
    pods = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert job.to_wire() == before
    return pods["containers"][0]["env"][-1]["valueFrom"]


@pytest.mark.parametrize("given", [IP, FILE])
def test_env_var_sources_are_kept_as_written(given: dict[str, Any]) -> None:
    assert source(given, behaviour=OURS) == given


def test_env_var_sources_lose_a_fields_api_version_and_a_file_key_in_the_reference() -> None:
    assert source(IP, behaviour=REFERENCE) == {"fieldRef": {"fieldPath": "status.podIP"}}
    assert source(FILE, behaviour=REFERENCE) == {}
