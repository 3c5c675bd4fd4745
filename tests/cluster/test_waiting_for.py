"""What a run waits for or is stuck on, from objects as Kubernetes writes them."""

from typing import Any

import pytest

from tests.cluster.world import RUNNING, container, ended, waiting
from trainer_infra import names
from trainer_infra.cluster import stuck, waiting_for
from trainer_infra.cluster.waiting_for import Around


def jobset(*steps: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> Any:
    jobs = steps or ({"name": "node"},)
    metadata = {"name": "tj", "labels": labels or {}}
    return {"metadata": metadata, "spec": {"replicatedJobs": list(jobs), **spec}}


def pod(*statuses: Any, step: str = "node", node: str = "n1", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"tj-{step}-0-0-abcde",
            "labels": {names.REPLICATED_JOB_LABEL: step},
        },
        "spec": {"nodeName": node, "containers": [{"name": "node"}]},
        "status": {"containerStatuses": list(statuses), **status},
    }


def event(reason: str, message: str, kind: str = "Pod") -> dict[str, Any]:
    about = {"kind": kind, "name": "tj-node-0-0-abcde"}
    return {"involvedObject": about, "reason": reason, "message": message}


INITIALIZER = {"name": "dataset-initializer"}
TRAINER = {"name": "node", "dependsOn": [{"name": "dataset-initializer", "status": "Complete"}]}
READY = pod(container(RUNNING), step="dataset-initializer", phase="Running")
CREATING = pod(container(waiting("ContainerCreating")), phase="Pending")
CRASHED = pod(
    container(waiting("CrashLoopBackOff", "back-off 10s"), ended(42), restarts=2), phase="Running"
)
CRASHES = "pod tj-node-0-0-abcde: container node fails again and again, last with exit code 42"
FULL = event("FailedCreate", 'pods "tj" is forbidden: exceeded quota: q', "Job")
QUEUE = {"kueue.x-k8s.io/queue-name": "research"}
RESERVED = {"type": "QuotaReserved", "status": "False", "message": "insufficient quota for cpu"}


@pytest.mark.parametrize(
    ("live", "pods", "around", "sentence"),
    [
        (jobset(), [], Around(), "pods of node are being made"),
        (jobset(), [pod(container(RUNNING), phase="Running")], Around(), ""),
        (jobset(INITIALIZER, TRAINER), [READY], Around(), "node waits for dataset-initializer"),
        (
            jobset(),
            [],
            Around([FULL]),
            'pods of node cannot be made: pods "tj" is forbidden: exceeded quota: q',
        ),
        (
            jobset(),
            [CREATING],
            Around([event("Pulling", 'Pulling image "a"'), event("FailedMount", "no volume")]),
            "pod tj-node-0-0-abcde: no volume",
        ),
        (
            jobset(),
            [CRASHED],
            Around(),
            f"the next try of {CRASHES}",
        ),
        (jobset(suspend=True), [], Around(), "somebody suspended its JobSet"),
        (
            jobset(labels=QUEUE, suspend=True),
            [],
            Around(workload={"status": {"conditions": [RESERVED]}}),
            "admission by Kueue to queue research: insufficient quota for cpu",
        ),
    ],
)
def test_the_first_reason_is_said(
    live: Any, pods: list[Any], around: Around, sentence: str
) -> None:
    assert waiting_for.waiting_for(live, pods, around) == sentence


def test_who_may_not_read_nodes_sees_what_was_done_to_the_pod() -> None:
    lost = pod(container(RUNNING), phase="Running", reason="NodeLost")
    assert stuck.stuck([lost], {}) == ("pod tj-node-0-0-abcde is on node n1, which does not answer")
    assert stuck.stuck([pod(container(RUNNING), phase="Running")], {}) == ""


def test_a_node_that_is_not_ready_is_named_with_what_it_said() -> None:
    condition = {
        "type": "Ready",
        "status": "False",
        "message": "container runtime is down",
        "lastTransitionTime": "2026-11-21T12:00:00Z",
    }
    nodes = {"n1": {"status": {"conditions": [condition]}}}
    assert stuck.stuck([CREATING], nodes) == (
        "pod tj-node-0-0-abcde is on node n1, which is not ready since 2026-11-21T12:00:00Z: "
        "container runtime is down"
    )


def test_a_pod_that_has_ended_is_not_stuck_on_its_node() -> None:
    assert stuck.stuck([pod(container(ended(0)), phase="Succeeded")], {"n1": {}}) == ""
