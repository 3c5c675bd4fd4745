"""XGBoost beyond the golden folder: workers, the tracker's address, refusals."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour

RUNTIME = catalog.get("xgboost-distributed")


def job(**spec: Any) -> TrainJob:
    return TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "tj"},
            "spec": {"runtimeRef": {"name": "xgboost-distributed"}, **spec},
        }
    )


def runtime(**changes: Any) -> ClusterTrainingRuntime:
    """The shipped runtime with changes of its container."""
    wire = RUNTIME.to_wire()
    (replicated,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    replicated["template"]["spec"]["template"]["spec"]["containers"][0].update(changes)
    return ClusterTrainingRuntime.from_wire(wire)


def container(
    train_job: TrainJob,
    on: ClusterTrainingRuntime = RUNTIME,
    *,
    behaviour: Behaviour = OURS,
) -> dict[str, Any]:
    (jobset,) = pipeline.render(train_job, on, behaviour=behaviour)
    (replicated,) = jobset["spec"]["replicatedJobs"]
    found: dict[str, Any] = replicated["template"]["spec"]["template"]["spec"]["containers"][0]
    return found


def env(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in found.get("env", ())}


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        ({}, "1"),
        ({"numNodes": 3}, "3"),
        ({"numNodes": 3, "resourcesPerNode": {"limits": {"cpu": 8}}}, "3"),
        ({"numNodes": 3, "resourcesPerNode": {"limits": {"amd.com/gpu": 2}}}, "6"),
        ({"numNodes": 0}, "0"),
    ],
)
def test_there_is_a_worker_for_each_gpu_or_one_on_each_node(
    trainer: dict[str, Any], expected: str
) -> None:
    assert env(container(job(trainer=trainer)))["DMLC_NUM_WORKER"] == expected


def test_gpus_of_the_runtime_count() -> None:
    on = runtime(resources={"limits": {"nvidia.com/gpu": 2}})
    assert env(container(job(trainer={"numNodes": 2}), on))["DMLC_NUM_WORKER"] == "4"


def test_q2_workers_are_counted_from_what_the_pod_gets() -> None:
    on = runtime(resources={"limits": {"nvidia.com/gpu": 2}})
    train_job = job(trainer={"resourcesPerNode": {"limits": {"cpu": 4}}})
    ours = env(container(train_job, on))
    reference = env(container(train_job, on, behaviour=REFERENCE))
    assert (ours["DMLC_NUM_WORKER"], reference["DMLC_NUM_WORKER"]) == ("2", "1")


def test_q1_a_job_without_a_trainer_gets_its_variables() -> None:
    ours = container(job())
    assert env(ours)["DMLC_TRACKER_URI"] == "tj-node-0-0.tj"
    assert ours["ports"] == [{"containerPort": 29500}]
    assert set(container(job(), behaviour=REFERENCE)) == {"name", "image"}


def test_each_reserved_variable_is_forbidden_at_its_place() -> None:
    names = ("DMLC_TASK_ID", "MINE", "DMLC_TRACKER_URI", "DMLC_NUM_WORKER", "DMLC_TRACKER_PORT")
    variables = [{"name": name, "value": "x"} for name in names]
    with pytest.raises(InvalidInput) as caught:
        pipeline.render(job(trainer={"env": variables}), RUNTIME)
    assert [(each.path, each.what) for each in caught.value.problems] == [
        (f"spec.trainer.env[{index}]", f"{name} is reserved for the XGBoost runtime")
        for index, name in enumerate(names)
        if name != "MINE"
    ]
