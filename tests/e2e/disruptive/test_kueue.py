"""Runs in queues of a real Kueue: what it starts, and each cause for which it does not, made for real."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from from_source.cluster import kueue
from tests.deploy.project import Stack, read_until
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.disruptive.queues import TRAINER, Queues, queued, runtime
from tests.e2e.jobs import LONG, Jobs, eventually
from trainer_infra.errors import Refused
from trainer_infra.runs.causes import kueue_causes as causes
from trainer_infra.runs.causes.kueue_causes import KueueCause
from trainer_infra.runs.run import Run, RunKey

JOB = """
TrainJob("job", runtime="jax-distributed", namespace=NS, name="job", trainer=on(seconds=0.0),
         labels={"kueue.x-k8s.io/queue-name": "team"}, wait_for="complete")
"""

BATCH = """
from trainer_infra import TrainJobs

member = dict(runtime="jax-distributed", namespace=NS, trainer=on(seconds=0.0),
              labels={"kueue.x-k8s.io/queue-name": "team"})
TrainJobs("sweep", {f"m{number}": member for number in range(6)}, wait_for="complete")
"""


@pytest.fixture
def queues(installed: Path, namespace: Namespace) -> Queues:
    """A namespace that Kueue manages."""
    assert installed.exists()
    namespace.kubectl("label", "namespace", namespace.name, f"{kueue.LABEL}=true")
    return Queues(namespace)


def said(jobs: Jobs, words: str) -> Run:
    """The run once it waits for that."""
    seen: dict[str, Run] = {}

    def waits() -> Run | None:
        run = jobs.now()
        seen[run.waiting_for] = run
        return run if words in run.waiting_for else None

    try:
        found: Run = eventually(waits)
    except AssertionError as error:
        raise AssertionError(list(seen)) from error
    return found


def agrees(run: Run, cause: KueueCause) -> None:
    """Fail unless a gate ends on it as the table says, with what to do."""
    assert run.stuck == (run.waiting_for if cause.ends else ""), run
    assert not cause.ends or run.stuck.endswith(f"; {cause.help}")


def missing_local_queue(_: Queues) -> str:
    return "team"


def stopped_local_queue(queues: Queues) -> str:
    return queues.local(queues.cluster(), stopPolicy="Hold")


def missing_cluster_queue(queues: Queues) -> str:
    return queues.local("nothing")


def stopped_cluster_queue(queues: Queues) -> str:
    return queues.local(queues.cluster(stopPolicy="Hold"))


def inactive_check(queues: Queues) -> str:
    return queues.local(queues.cluster(checks=[queues.check(active=False)]))


def missing_flavor(queues: Queues) -> str:
    return queues.local(queues.cluster(flavors=["nothing"]))


def other_namespaces(queues: Queues) -> str:
    return queues.local(queues.cluster(namespaceSelector={"matchLabels": {"team": "other"}}))


def limit_range(queues: Queues, **bounds: str) -> str:
    limits = {key: {"cpu": value} for key, value in bounds.items()}
    spec = {"limits": [{"type": "Container", **limits}]}
    value = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "bounds"}}
    queues.namespace.kubectl("create", "-f", "-", given=json.dumps(value | {"spec": spec}))
    return queues.local(queues.cluster())


def small_quota(queues: Queues) -> str:
    return queues.local(queues.cluster("50m"))


def tainted_flavor(queues: Queues) -> str:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    flavors = [queues.flavor("tainted", nodeTaints=[taint])]
    return queues.local(queues.cluster(flavors=flavors))


def used_quota(queues: Queues, **spec: Any) -> str:
    name = queues.local(queues.cluster("150m", **spec))
    queues.occupant()
    eventually(lambda: queues.runs("occupant"))
    return name


def behind_another(queues: Queues) -> str:
    name = used_quota(queues, queueingStrategy="StrictFIFO")
    queues.occupant("before")
    eventually(lambda: "QuotaReserved" in str(queues.workload("before").get("status")))
    return name


def pending_check(queues: Queues) -> str:
    return queues.local(queues.cluster(checks=[queues.check()]))


MADE: dict[str, tuple[KueueCause, Callable[[Queues], str], str]] = {
    "no LocalQueue": (
        causes.LOCAL_QUEUE_MISSING,
        missing_local_queue,
        "queue team: LocalQueue team doesn't exist",
    ),
    "a LocalQueue on hold": (
        causes.LOCAL_QUEUE_STOPPED,
        stopped_local_queue,
        "LocalQueue team is inactive",
    ),
    "no ClusterQueue": (
        causes.CLUSTER_QUEUE_MISSING,
        missing_cluster_queue,
        "ClusterQueue nothing doesn't exist",
    ),
    "a ClusterQueue on hold": (
        causes.CLUSTER_QUEUE_STOPPED,
        stopped_cluster_queue,
        "is inactive: Can't admit new workloads: is stopped.",
    ),
    "a check without controller": (
        causes.CLUSTER_QUEUE_INACTIVE,
        inactive_check,
        "is inactive: Can't admit new workloads: references inactive AdmissionCheck(s)",
    ),
    "no ResourceFlavor": (
        causes.CLUSTER_QUEUE_INCOMPLETE,
        missing_flavor,
        "is inactive: Can't admit new workloads: references missing ResourceFlavor(s): nothing",
    ),
    "a ClusterQueue for other namespaces": (
        causes.NAMESPACE,
        other_namespaces,
        "workload namespace doesn't match ClusterQueue selector",
    ),
    "less than a LimitRange allows": (
        causes.REQUESTS,
        partial(limit_range, min="200m"),
        "resources didn't satisfy LimitRange constraints",
    ),
    "requests above the limits": (
        causes.REQUESTS,
        partial(limit_range, max="50m"),
        "requests must not exceed its limits",
    ),
    "more than the whole quota": (causes.NEVER_FITS, small_quota, "> maximum capacity (50m)"),
    "a flavor with a taint": (causes.NEVER_FITS, tainted_flavor, "untolerated taint"),
    "quota that another uses": (causes.QUOTA_USED, used_quota, "insufficient unused quota for cpu"),
    "another that is first": (causes.PENDING, behind_another, "admission by Kueue to queue team"),
    "a check that is pending": (causes.CHECKS, pending_check, "-check is Pending"),
}
"""By what is made: the cause, how, and words of what is said of it."""
ELSEWHERE = {
    *(causes.ABSENT, causes.NO_WORKLOAD, causes.NOT_MANAGED, causes.PRIORITY_CLASS),
    *(causes.FINISHED, causes.DEACTIVATED, causes.PREEMPTED, causes.PODS_READY, causes.EVICTED),
    *(causes.GATED, causes.STARTING),
}
"""Causes with a test of their own here or in test_without_kueue.py; Kueue starts what it admitted
within milliseconds."""


def test_each_cause_is_made() -> None:
    assert {cause for cause, _, _ in MADE.values()} | ELSEWHERE == set(causes.CAUSES)


@pytest.mark.parametrize("what", MADE)
def test_why_kueue_does_not_start_a_run_is_said_in_its_own_words(queues: Queues, what: str) -> None:
    cause, make, words = MADE[what]
    jobs = queued(queues.namespace, make(queues))
    jobs.start(runtime(), TRAINER)
    queues.workload()
    run = said(jobs, words)
    assert run.phase == "Created"
    agrees(run, cause)


def test_a_priority_class_that_is_missing_is_named(queues: Queues) -> None:
    jobs = queued(queues.namespace, queues.local(queues.cluster()), priority_class="urgent")
    jobs.start(runtime(), TRAINER)
    run = said(jobs, "there is no WorkloadPriorityClass urgent")
    agrees(run, causes.PRIORITY_CLASS)
    queues.made("WorkloadPriorityClass", "urgent", {"value": 10})
    eventually(lambda: jobs.now().phase == "Running")


def test_what_gates_a_workload_is_named(queues: Queues) -> None:
    jobs = queued(queues.namespace, queues.local(queues.cluster()))
    gate = {"kueue.x-k8s.io/admission-gated-by": "example.com/budget"}
    jobs.start(runtime(annotations=gate), TRAINER)
    agrees(said(jobs, "Admission is gated by: example.com/budget"), causes.GATED)


def test_a_run_that_makes_room_for_another_says_so_and_comes_again(queues: Queues) -> None:
    policy = {"withinClusterQueue": "LowerPriority"}
    jobs = queued(queues.namespace, queues.local(queues.cluster("150m", preemption=policy)))
    jobs.start(runtime(), TRAINER)
    eventually(lambda: jobs.now().phase == "Running")
    high = queues.made("WorkloadPriorityClass", f"{queues.namespace.name}-high", {"value": 10})
    queues.occupant(priority=high)
    run = said(jobs, "queued again: couldn't assign flavors to pod set node: insufficient unused")
    assert "Preempted to accommodate a workload" in run.waiting_for
    assert run.phase == "Created"
    agrees(run, causes.PREEMPTED)
    queues.namespace.kubectl("delete", "jobset", "occupant")
    eventually(lambda: jobs.now().phase == "Running")
    assert "Kueue" not in jobs.now().waiting_for


def test_a_queue_that_is_drained_stops_a_run_and_holds_it(queues: Queues) -> None:
    cluster = queues.cluster()
    jobs = queued(queues.namespace, queues.local(cluster))
    jobs.start(runtime(), TRAINER)
    eventually(lambda: jobs.now().phase == "Running")
    queues.local(cluster, stopPolicy="HoldAndDrain")
    agrees(said(jobs, "LocalQueue team is inactive"), causes.LOCAL_QUEUE_STOPPED)
    queues.local(cluster, stopPolicy="None")
    eventually(lambda: jobs.now().phase == "Running")


def test_a_workload_that_was_deactivated_is_stuck_until_it_is_active(queues: Queues) -> None:
    jobs = queued(queues.namespace, queues.local(queues.cluster()))
    run = jobs.start(runtime(), TRAINER)
    name = queues.workload()["metadata"]["name"]
    with pytest.raises(Refused, match=f"spec.active of Workload {name}"):
        jobs.cluster.suspend(RunKey(queues.namespace.name, "tj", run.uid), True)
    turn = ("patch", "workload", name, "--type=merge", "-p")
    queues.namespace.kubectl(*turn, '{"spec":{"active":false}}')
    run = said(jobs, f"The workload is deactivated (spec.active of Workload {name} is false)")
    agrees(run, causes.DEACTIVATED)
    queues.namespace.kubectl(*turn, '{"spec":{"active":true}}')
    eventually(lambda: jobs.now().phase == "Running")
    assert jobs.now().stuck == ""


def test_what_an_admission_check_decides_is_said(queues: Queues) -> None:
    jobs = queued(queues.namespace, pending_check(queues))
    jobs.start(runtime(), TRAINER)
    queues.decide(state="Retry", message="the budget is empty", requeueAfterSeconds=300)
    agrees(said(jobs, "is Retry (the budget is empty); Kueue tries again at "), causes.CHECKS)


def test_a_run_that_an_admission_check_sends_back_waits_behind_others(queues: Queues) -> None:
    checks = [queues.check()]
    jobs = queued(queues.namespace, queues.local(queues.cluster("250m", checks=checks)))
    jobs.start(runtime(), TRAINER)
    queues.occupant()
    for each in ("tj", "occupant"):
        eventually(partial(queues.has_quota, each))
    # Kueue takes nothing away from who has it, but gives it to one only.
    queues.cluster("150m", checks=checks)
    queues.decide(state="Retry", message="the budget is empty")
    run = said(jobs, "(the budget is empty); queued again: couldn't assign flavors")
    assert "Evicted due to AdmissionCheck in Retry state" in run.waiting_for
    agrees(run, causes.EVICTED)


def test_a_run_that_an_admission_check_rejects_is_stuck(queues: Queues) -> None:
    jobs = queued(queues.namespace, pending_check(queues))
    jobs.start(runtime(), TRAINER)
    queues.decide(state="Rejected", message="the budget says no")
    run = said(jobs, "The workload is deactivated due to AdmissionCheck in Rejected state")
    assert "(the budget says no)" in run.waiting_for
    agrees(run, causes.DEACTIVATED)


def test_a_run_that_kueue_cannot_start_is_stuck(queues: Queues) -> None:
    jobs = queued(queues.namespace, pending_check(queues))
    linux = [{"name": "node", "nodeSelector": {"kubernetes.io/os": "linux"}}]
    windows = [{"name": "node", "nodeSelector": {"kubernetes.io/os": "windows"}}]
    wire = runtime().to_wire()
    (job,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["spec"]["nodeSelector"] = linux[0]["nodeSelector"]
    jobs.start(type(runtime()).from_wire(wire), TRAINER)
    queues.decide(state="Ready", podSetUpdates=windows)
    agrees(said(jobs, "is finished: "), causes.FINISHED)


@pytest.mark.soak
def test_a_namespace_that_kueue_does_not_manage_is_said_after_a_minute(
    installed: Path, namespace: Namespace
) -> None:
    assert installed.exists()
    jobs = queued(namespace, "team")
    jobs.start(runtime(), TRAINER, suspend=True)
    run = said(jobs, "Kueue made no Workload of it since ")
    agrees(run, causes.NO_WORKLOAD)
    with pytest.raises(Refused, match="the Workload that Kueue is about to make"):
        jobs.cluster.suspend(RunKey(namespace.name, "tj", run.uid), False)
    eventually(lambda: jobs.now().stuck)
    agrees(jobs.now(), causes.NOT_MANAGED)
    jobs.cluster.suspend(RunKey(namespace.name, "tj", run.uid), False)
    eventually(lambda: jobs.now().phase == "Running")


def test_kueue_decides_when_a_run_of_its_queue_starts_whatever_suspend_says(
    queues: Queues,
) -> None:
    jobs = queued(queues.namespace, queues.local(queues.cluster()))
    jobs.start(runtime(), TRAINER, suspend=True)
    eventually(lambda: jobs.now().phase == "Running")


def test_a_queued_run_completes_without_drift(cluster_stack: Stack, queues: Queues) -> None:
    queues.local(queues.cluster())
    cluster_stack.program(PROGRAM + dedent(JOB))
    assert "warning" not in cluster_stack.preview()
    cluster_stack.up()
    assert cluster_stack.job()["lastSeen"] == "Created"
    cluster_stack.run("refresh", "--yes")
    cluster_stack.unchanged()
    assert "Complete" in cluster_stack.trainer("get", "-n", queues.namespace.name)


def test_a_gate_says_what_kueue_says_and_goes_on_when_there_is_room(
    cli_cluster_stack: Stack, queues: Queues
) -> None:
    used_quota(queues)
    cli_cluster_stack.program(PROGRAM + dedent(JOB))
    with cli_cluster_stack.start("up", "--yes", "--skip-preview") as process:
        shown = read_until("insufficient unused quota for cpu in flavor", process)
        queues.namespace.kubectl("delete", "jobset", "occupant")
        rest, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0, shown + rest


@pytest.mark.soak
def test_a_gate_ends_where_the_queue_is_missing_and_the_next_up_waits_again(
    cluster_stack: Stack, queues: Queues
) -> None:
    cluster_stack.program(PROGRAM + dedent(JOB))
    warned = cluster_stack.run("preview")
    assert "there is no LocalQueue of that name in namespace" in warned
    shown = cluster_stack.up(ok=False)
    assert (
        "TrainJob job is stuck: admission by Kueue to queue team: LocalQueue team doesn't" in shown
    )
    assert causes.LOCAL_QUEUE_MISSING.help in shown
    described = cluster_stack.trainer("describe", "job", "-n", queues.namespace.name)
    assert "LocalQueue team doesn't exist" in described
    queues.local(queues.cluster())
    cluster_stack.up()


@pytest.mark.soak
def test_a_batch_whose_queue_is_missing_ends_with_the_cause(
    cluster_stack: Stack, queues: Queues
) -> None:
    cluster_stack.program(PROGRAM + dedent(BATCH))
    shown = cluster_stack.up(ok=False)
    assert "admission by Kueue to queue team: LocalQueue team doesn't exist" in shown
    queues.local(queues.cluster())
    cluster_stack.up()


@pytest.mark.soak
def test_pods_that_are_not_ready_in_time_are_tried_again_then_given_up(
    request: pytest.FixtureRequest, kubeconfig: Path, queues: Queues
) -> None:
    again = {"backoffLimitCount": 1, "backoffBaseSeconds": 5}
    ready = {"timeout": "2s", "requeuingStrategy": again}
    request.addfinalizer(partial(kueue.install, kubeconfig))
    kueue.install(kubeconfig, waitForPodsReady=ready)
    jobs = queued(queues.namespace, queues.local(queues.cluster()))
    nowhere = {"kubernetes.io/hostname": "nowhere"}
    wire = runtime().to_wire()
    (job,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["spec"]["nodeSelector"] = nowhere
    jobs.start(type(runtime()).from_wire(wire), TRAINER)
    run = said(jobs, "Exceeded the PodsReady timeout")
    assert "Kueue tries again at " in run.waiting_for
    agrees(run, causes.PODS_READY)
    run = said(jobs, "exceeding the maximum number of re-queuing retries")
    agrees(run, causes.DEACTIVATED)
