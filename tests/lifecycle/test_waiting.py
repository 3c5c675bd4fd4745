"""A TrainJob says in one short line why it does not go on, and Kueue's count is explained."""

from typing import Any

import pytest

from tests.lifecycle.worlds import NOW, RUNTIME, condition, job, jobset, pod, seen
from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.lifecycle import waiting
from trainer_infra.lifecycle.plan import plan
from trainer_infra.render.behaviour import REFERENCE
from trainer_infra.render.observed_objects import ObservedObjects

QUEUED = {"labels": {"kueue.x-k8s.io/queue-name": "team-queue"}}


def test_waiting_for_kueue_names_the_queue_and_ends_with_the_admission() -> None:
    held = job(metadata=QUEUED, suspend=True)
    assert plan(held, RUNTIME, seen(held, jobset(held)), NOW).waiting == (
        "Kueue has not admitted it to queue team-queue"
    )
    admitted = job(metadata=QUEUED, suspend=False)
    assert plan(admitted, RUNTIME, seen(admitted, jobset(admitted)), NOW).waiting == ""
    suspended = job(suspend=True)
    assert plan(suspended, RUNTIME, seen(suspended, jobset(suspended)), NOW).waiting == ""
    assert plan(held, RUNTIME, seen(held, jobset(held)), NOW, behaviour=REFERENCE).waiting == ""


def test_a_long_reason_is_cut_to_one_line_and_a_finished_trainjob_waits_for_nothing() -> None:
    running = job()
    scheduled = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available:\n" + "too few GPUs, " * 50,
    }
    pods = (pod("tj-node-0-0", phase="Pending", conditions=[scheduled]),)
    said = plan(running, RUNTIME, seen(running, jobset(running), pods=pods), NOW).waiting
    assert said.startswith("pod tj-node-0-0: no node has a place for it: … few GPUs")
    assert (len(said), said[-1], "\n" in said) == (waiting.LENGTH, "…", False)
    ended = jobset(running, condition("Failed", "True", "FailedJobs"))
    assert plan(running, RUNTIME, seen(running, ended, pods=pods), NOW).waiting == ""


def runtime(**resources: Any) -> ClusterTrainingRuntime:
    wire = catalog.get("jax-distributed").to_wire()
    (replicated,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = replicated["template"]["spec"]["template"]["spec"]["containers"]
    container["resources"] = resources
    return ClusterTrainingRuntime.from_wire(wire)


@pytest.mark.parametrize(
    ("metadata", "own", "said"),
    [
        (QUEUED, {"limits": {"nvidia.com/gpu": 4}}, ["cpu, memory"]),
        (QUEUED, {"limits": {"cpu": 4, "memory": "1Gi"}}, []),
        ({}, {"limits": {"nvidia.com/gpu": 4}}, []),
    ],
)
def test_what_kueue_does_not_count_is_an_event_when_the_jobset_is_made(
    metadata: dict[str, Any], own: dict[str, Any], said: list[str]
) -> None:
    on = runtime(requests={"cpu": 1, "memory": "1Gi"})
    new = job(metadata=metadata, trainer={"resourcesPerNode": own})
    found = plan(new, on, ObservedObjects(None), NOW).events
    messages = [each.message for each in found if each.reason == "KueueCountsLess"]

    assert [
        f"Kueue does not count {each} of the runtime" in "".join(messages) for each in said
    ] == [True for _ in said]
    assert len(messages) == len(said)
    made = seen(new, jobset(new))
    again = plan(new, on, made, NOW).events
    assert [each for each in again if each.reason == "KueueCountsLess"] == []
