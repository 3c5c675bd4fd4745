"""Where ours is better than the reference, and that --like-reference switches it off.

Each test is a row of docs/compatibility.md.
"""

from typing import Any

import pytest

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour


def runtime(policy: dict[str, Any], container: dict[str, Any], **spec: Any) -> Any:
    name = spec.pop("job", "node")
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    pods = {"spec": {"containers": [{"name": "node", "image": "i", **container}]}}
    jobs = [
        {"name": name, "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}}
    ]
    return ClusterTrainingRuntime.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "r"},
            "spec": {"mlPolicy": policy, "template": {"spec": {**spec, "replicatedJobs": jobs}}},
        }
    )


def container(on: Any, *, behaviour: Behaviour, **spec: Any) -> dict[str, Any]:
    job = TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "tj"},
            "spec": {"runtimeRef": {"name": "r"}, **spec},
        }
    )
    (jobset,) = pipeline.render(job, on, behaviour=behaviour)
    template = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    found: dict[str, Any] = template["spec"]["containers"][0]
    return found


def env(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in found.get("env", ())}


def test_q1_a_job_without_a_trainer_gets_its_variables() -> None:
    on = runtime({"jax": {}}, {})
    ours = env(container(on, behaviour=OURS))
    assert ours["JAX_COORDINATOR_ADDRESS"] == "tj-node-0-0.tj:29500"
    assert container(on, behaviour=REFERENCE) == {"name": "node", "image": "i"}


def test_q2_processes_are_counted_from_what_the_pod_gets() -> None:
    on = runtime({"torch": {}}, {"resources": {"limits": {"nvidia.com/gpu": 2}}})
    trainer = {"resourcesPerNode": {"limits": {"cpu": 4}}}
    ours = container(on, behaviour=OURS, trainer=trainer)
    reference = container(on, behaviour=REFERENCE, trainer=trainer)
    assert env(ours)["PET_NPROC_PER_NODE"] == "auto"
    assert env(reference)["PET_NPROC_PER_NODE"] == "4"
    assert ours["resources"] == reference["resources"]


def test_q4_the_head_address_is_the_one_of_the_pod_that_exists() -> None:
    on = runtime({"jax": {}}, {}, job="worker", network={"subdomain": "net"})
    ours = env(container(on, behaviour=OURS, trainer={}))
    reference = env(container(on, behaviour=REFERENCE, trainer={}))
    assert ours["JAX_COORDINATOR_ADDRESS"] == "tj-worker-0-0.net:29500"
    assert reference["JAX_COORDINATOR_ADDRESS"] == "tj-node-0-0.tj:29500"


def test_q17_unnamed_ports_of_the_runtime_are_kept() -> None:
    ports = [{"containerPort": 8080}, {"containerPort": 9090}]
    found = container(runtime({"torch": {}}, {"ports": ports}), behaviour=OURS, trainer={})
    assert found["ports"] == [*ports, {"containerPort": 29500}]


def test_resources_above_their_limit_are_refused_once_merged_with_the_runtimes() -> None:
    limits = {"cpu": 2, "memory": "4Gi", "nvidia.com/gpu": 4}
    on = runtime({"torch": {}}, {"resources": {"limits": limits, "requests": {"memory": "4Gi"}}})
    asked = {"requests": {"cpu": 2, "memory": "5Gi", "nvidia.com/gpu": 2}}
    with pytest.raises(InvalidInput) as error:
        container(on, behaviour=OURS, trainer={"resourcesPerNode": asked})
    said = "must not be above its limit, and for a device equal to it, once both are merged with"
    assert [(each.path, each.got) for each in error.value.problems] == [
        ("spec.trainer.resourcesPerNode.requests[memory]", "request 5Gi, limit 4Gi"),
        ("spec.trainer.resourcesPerNode.requests[nvidia.com/gpu]", "request 2, limit 4"),
    ]
    assert {said in each.what for each in error.value.problems} == {True}
    assert container(on, behaviour=REFERENCE, trainer={"resourcesPerNode": asked})["resources"]


@pytest.mark.parametrize("policy", [{"torch": {}}, {"jax": {}}, {}])
def test_num_nodes_below_zero_is_refused_and_zero_is_not(policy: dict[str, Any]) -> None:
    on = runtime(policy, {})
    with pytest.raises(InvalidInput) as error:
        container(on, behaviour=OURS, trainer={"numNodes": -4})
    assert str(error.value) == (
        "TrainJob tj: spec.trainer.numNodes: must not be negative: it is the number of pods that "
        "train, got -4; write 1 or more, or leave it out for the runtime's number"
    )
    assert container(on, behaviour=REFERENCE, trainer={"numNodes": -4})["image"] == "i"
    assert container(on, behaviour=OURS, trainer={"numNodes": 0})["image"] == "i"
