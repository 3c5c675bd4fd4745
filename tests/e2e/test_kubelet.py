"""What a kubelet does to pods that fail, are taken away or are left over, and what follows."""

import json
import time
from textwrap import dedent
from typing import Any

import pytest

from tests.e2e import runtimes
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import Jobs, eventually
from trainer_infra import names
from trainer_infra.api import fault_tolerance
from trainer_infra.api.fault_tolerance import SIGTERM, FaultTolerance, Policies, SuccessPolicy
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.runs.run import COMPLETE, FAILED, RunKey
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

ATTEMPT = {
    "name": "ATTEMPT",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{names.RESTART_ATTEMPT_LABEL}']"}},
}
"""How often all nodes were started anew before."""


def python(code: str) -> list[str]:
    """A command; as the first process of its container it ends by a signal only if it handles it."""
    return ["python", "-u", "-c", dedent(code)]


FIRST_NODE_ENDS_WITH_42 = python(
    """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if os.environ["JOB_COMPLETION_INDEX"] == "0":
        sys.exit(42)
    time.sleep(600)
    """
)

ENDS_AT_THE_SECOND_ATTEMPT = python(
    """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print("attempt", os.environ["ATTEMPT"])
    while os.environ["ATTEMPT"] == "0":
        time.sleep(0.1)
    """
)


@pytest.mark.usefixtures("image")
def test_exit_code_42_ends_the_run_at_once_and_nothing_is_tried_again(
    namespace: Namespace,
) -> None:
    jobs = Jobs(namespace)
    tolerance = FaultTolerance(max_restarts=3, fail_fast_exit_codes=(42,))
    runtime = fault_tolerance.with_fault_tolerance(runtimes.on_host("plain-distributed"), tolerance)

    run = jobs.run(runtime, {"command": FIRST_NODE_ENDS_WITH_42, "numNodes": 2})

    assert run.phase == FAILED
    assert run.failure is not None
    assert run.failure.exit_code == 42
    assert run.failure.pod.startswith("tj-node-0-0")
    assert jobs.jobset_status().get("restarts", 0) == 0
    (job,) = namespace.all("jobs")
    assert job["status"]["failed"] <= 2, "a pod was made in place of one that failed"


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("restarts", [0, 3])
def test_an_evicted_pod_starts_all_nodes_anew_and_that_costs_no_restart(
    restarts: int, namespace: Namespace
) -> None:
    jobs = Jobs(namespace)
    started(jobs, FaultTolerance(max_restarts=restarts))

    evict(namespace, namespace.names("pods")[0])

    assert jobs.finished().phase == COMPLETE
    status = jobs.jobset_status()
    assert (status["restarts"], status.get("restartsCountTowardsMax", 0)) == (1, 0)


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize(
    ("tolerance", "counted"),
    [
        pytest.param(FaultTolerance(max_restarts=1), 1, id="costs a restart"),
        pytest.param(
            FaultTolerance(max_restarts=0, uncounted_exit_codes=(SIGTERM,)), 0, id="is free"
        ),
    ],
)
def test_a_pod_that_somebody_deletes_starts_all_nodes_anew(
    tolerance: FaultTolerance, counted: int, namespace: Namespace
) -> None:
    jobs = Jobs(namespace)
    started(jobs, tolerance)

    namespace.kubectl("delete", "pod", namespace.names("pods")[0], "--wait=false")

    assert jobs.finished().phase == COMPLETE
    status = jobs.jobset_status()
    assert (status["restarts"], status.get("restartsCountTowardsMax", 0)) == (1, counted)


@pytest.mark.usefixtures("image")
def test_a_success_policy_ends_a_run_whose_helpers_would_go_on(namespace: Namespace) -> None:
    jobs = Jobs(namespace)
    policy = SuccessPolicy(operator="All", target_replicated_jobs=("node",))
    runtime = fault_tolerance.with_policies(with_helper(), Policies(success=policy))
    began = time.monotonic()

    run = jobs.run(runtime, {"command": python("import time; time.sleep(3)")})

    assert run.phase == COMPLETE
    assert time.monotonic() - began < 300
    eventually(lambda: not any("helper" in each for each in namespace.names("pods")))


@pytest.mark.usefixtures("image")
def test_code_of_a_custom_trainer_ends_when_it_is_told_to(namespace: Namespace) -> None:
    jobs = Jobs(namespace)
    run = jobs.start(runtimes.on_host("plain-distributed"), CustomTrainer(sleeping))
    eventually(lambda: [each.phase for each in jobs.now().nodes] == ["Running"])
    eventually(lambda: "sleeping" in jobs.lines())

    # Killed after the grace period of 30 s, it would be a warning.
    assert jobs.cluster.delete(RunKey(run.namespace, run.name, run.uid), timeout=20) == ""


def sleeping() -> None:
    import time  # noqa: PLC0415  a training function imports inside

    print("sleeping", flush=True)  # noqa: T201  the pod's log
    time.sleep(600)


def started(jobs: Jobs, tolerance: FaultTolerance) -> None:
    """A run of two nodes which wait to be started anew, both at it."""
    runtime = fault_tolerance.with_fault_tolerance(runtimes.on_host("plain-distributed"), tolerance)
    trainer = {"command": ENDS_AT_THE_SECOND_ATTEMPT, "numNodes": 2, "env": [ATTEMPT]}
    jobs.start(runtime, trainer)
    eventually(lambda: [each.phase for each in jobs.now().nodes] == ["Running"] * 2)
    eventually(lambda: jobs.lines().count("attempt 0") == 2)


def evict(namespace: Namespace, pod: str) -> None:
    """What a drained node and a preempting scheduler do, by the API that they use."""
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace.name},
    }
    path = f"/api/v1/namespaces/{namespace.name}/pods/{pod}/eviction"
    namespace.kubectl("create", "--raw", path, "--filename", "-", given=json.dumps(eviction))


def with_helper() -> ClusterTrainingRuntime:
    """Nodes without a framework, and a job beside them that never ends."""
    wire: dict[str, Any] = runtimes.on_host("plain-distributed").to_wire()
    jobs = wire["spec"]["template"]["spec"]["replicatedJobs"]
    container = {**jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0]}
    container |= {"name": "helper", "command": ["sleep", "600"]}
    pod = {"containers": [container], "terminationGracePeriodSeconds": 1}
    jobs.append({"name": "helper", "template": {"spec": {"template": {"spec": pod}}}})
    return ClusterTrainingRuntime.from_wire(wire)
