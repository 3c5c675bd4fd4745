"""Why Kueue does not start a JobSet, from Workloads as Kueue 0.19 writes them.

tests/e2e/disruptive/test_kueue.py makes each of them for real.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from trainer_infra.runs.causes import kueue_causes as causes
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.causes.kueue_causes import KueueCause
from trainer_infra.runs.causes.kueue_workload import QueuedWorkload, Queueing

MADE = datetime(2026, 11, 22, 13, 0, tzinfo=UTC)
NOW = MADE + timedelta(seconds=10)
HEAD = "admission by Kueue to queue research"
NO_FIT = "couldn't assign flavors to pod set node: "
MORE = (
    "insufficient quota for cpu in flavor {}, previously considered podsets requests (0) + current "
    "podset request (5) > maximum capacity (1)"
)
TAINT = "untolerated taint {{gpu yes NoSchedule <nil>}} in flavor {}"
USED = "insufficient unused quota for cpu in flavor {}, 600m more needed"


def jobset(queue: str = "research", *, suspend: bool = True, **metadata: Any) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    made = {"name": "tj", "labels": labels, "creationTimestamp": "2026-11-22T13:00:00Z"}
    return {"metadata": {**made, **metadata}, "spec": {"suspend": suspend}}


def condition(kind: str, reason: str, message: str, status: str) -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def unreserved(message: str, reason: str = "Pending") -> dict[str, str]:
    return condition("QuotaReserved", reason, message, "False")


def evicted(reason: str, message: str) -> dict[str, str]:
    return condition("Evicted", reason, message, "True")


RESERVED = condition("QuotaReserved", "QuotaReserved", "Quota reserved in ClusterQueue c", "True")
ADMITTED = condition("Admitted", "Admitted", "The workload is admitted", "True")
PREEMPTED = evicted("Preempted", "Preempted to accommodate a workload")


def workload(*conditions: dict[str, str], active: bool = True, **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "jobset-tj-1a2b3"},
        "spec": {"active": active},
        "status": {"conditions": list(conditions), **status},
    }


def cluster_queue(reason: str, message: str, *flavors: str) -> dict[str, Any]:
    group = {"coveredResources": ["cpu"], "flavors": [{"name": each} for each in flavors]}
    active = condition("Active", reason, message, "False")
    return {"spec": {"resourceGroups": [group]}, "status": {"conditions": [active]}}


def of(queueing: Queueing | None, now: datetime = NOW) -> QueuedWorkload:
    found = kueue_workload.waiting_workload(jobset(), queueing, now)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("value", "cause", "said"),
    [
        (workload(), causes.PENDING, ""),
        (
            workload(unreserved("LocalQueue nope doesn't exist", "Inadmissible")),
            causes.LOCAL_QUEUE_MISSING,
            "LocalQueue nope doesn't exist",
        ),
        (
            workload(unreserved("waiting for all admitted workloads to be in PodsReady condition")),
            causes.PENDING,
            "waiting for all admitted workloads to be in PodsReady condition",
        ),
        (
            workload(unreserved("resources validation failed: spec.podSets[0]: Invalid value: 1")),
            causes.REQUESTS,
            "resources validation failed: spec.podSets[0]: Invalid value: 1",
        ),
        (
            workload(unreserved("Admission is gated by: example.com/budget", "AdmissionGated")),
            causes.GATED,
            "Admission is gated by: example.com/budget",
        ),
        (
            workload(unreserved(NO_FIT + USED.format("a")), PREEMPTED),
            causes.PREEMPTED,
            f"Preempted to accommodate a workload; queued again: {NO_FIT}{USED.format('a')}",
        ),
        (
            workload(RESERVED, ADMITTED, PREEMPTED),
            causes.PREEMPTED,
            "Preempted to accommodate a workload",
        ),
        (
            workload(unreserved(NO_FIT + MORE.format("a")), PREEMPTED),
            causes.NEVER_FITS,
            NO_FIT + MORE.format("a"),
        ),
        (
            workload(evicted("Deactivated", "The workload is deactivated"), active=False),
            causes.DEACTIVATED,
            "The workload is deactivated (spec.active of Workload jobset-tj-1a2b3 is false)",
        ),
        (
            workload(active=False),
            causes.DEACTIVATED,
            "The workload is deactivated (spec.active of Workload jobset-tj-1a2b3 is false)",
        ),
        (
            workload(condition("Finished", "FailedToStart", "conflict for labels", "True")),
            causes.FINISHED,
            "Workload jobset-tj-1a2b3 is finished: conflict for labels",
        ),
        (
            workload(
                unreserved("Exceeded the PodsReady timeout team/tj"),
                evicted("PodsReadyTimeout", "Exceeded the PodsReady timeout team/tj"),
                requeueState={"count": 1, "requeueAt": "2026-11-22T13:05:00Z"},
            ),
            causes.PODS_READY,
            "Exceeded the PodsReady timeout team/tj; Kueue tries again at 2026-11-22T13:05:00Z",
        ),
        (
            workload(
                unreserved("At least one admission check is false"),
                evicted("NodeFailures", "Workload had to be evicted"),
            ),
            causes.EVICTED,
            "Workload had to be evicted; queued again: At least one admission check is false",
        ),
        (
            workload(
                RESERVED,
                admissionChecks=[
                    {"name": "budget", "state": "Pending", "message": "asking the office"},
                    {"name": "other", "state": "Ready", "message": ""},
                ],
            ),
            causes.CHECKS,
            "AdmissionCheck budget is Pending (asking the office)",
        ),
        (
            workload(
                RESERVED,
                admissionChecks=[{"name": "budget", "state": "Retry", "message": "empty"}],
                requeueState={"requeueAt": "2026-11-22T13:05:00Z"},
            ),
            causes.CHECKS,
            "AdmissionCheck budget is Retry (empty); Kueue tries again at 2026-11-22T13:05:00Z",
        ),
        (workload(RESERVED), causes.CHECKS, "quota is reserved"),
        (
            workload(RESERVED, ADMITTED),
            causes.STARTING,
            "Kueue has admitted it and resumes its JobSet",
        ),
    ],
)
def test_the_cause_is_found_in_kueues_own_words(
    value: dict[str, Any], cause: KueueCause, said: str
) -> None:
    sentence = f"{HEAD}: {said}" if said else HEAD
    assert of(Queueing(workload=value)) == QueuedWorkload(cause, sentence)


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("Stopped", causes.CLUSTER_QUEUE_STOPPED),
        ("Terminating", causes.CLUSTER_QUEUE_MISSING),
        ("FlavorNotFound", causes.CLUSTER_QUEUE_INCOMPLETE),
        ("AdmissionCheckNotFound", causes.CLUSTER_QUEUE_INCOMPLETE),
        ("TopologyNotFound", causes.CLUSTER_QUEUE_INCOMPLETE),
        ("AdmissionCheckInactive", causes.CLUSTER_QUEUE_INACTIVE),
    ],
)
def test_why_a_cluster_queue_is_inactive_is_read_from_it(reason: str, cause: KueueCause) -> None:
    value = workload(unreserved("ClusterQueue c is inactive", "Inadmissible"))
    inactive = cluster_queue(reason, "Can't admit new workloads: so.")
    assert of(Queueing(workload=value, cluster_queue=inactive)) == QueuedWorkload(
        cause, f"{HEAD}: ClusterQueue c is inactive: Can't admit new workloads: so."
    )
    assert of(Queueing(workload=value)) == QueuedWorkload(
        causes.CLUSTER_QUEUE_INACTIVE, f"{HEAD}: ClusterQueue c is inactive"
    )


@pytest.mark.parametrize(
    ("message", "never"),
    [
        (NO_FIT + MORE.format("a"), True),
        (NO_FIT + TAINT.format("a"), True),
        (NO_FIT + "flavor a doesn't match node affinity", True),
        (NO_FIT + "resource nvidia.com/gpu unavailable in ClusterQueue", True),
        (NO_FIT + f"{MORE.format('a')}, {TAINT.format('b')}", True),
        (NO_FIT + f"{MORE.format('a')}, insufficient unused quota for memory in flavor a, "
         "1Gi more needed", True),
        (f"{NO_FIT}{USED.format('a')}; couldn't assign flavors to pod set init: {MORE.format('a')}",
         True),
        (NO_FIT + USED.format("a"), False),
        (NO_FIT + f"{MORE.format('a')}, {USED.format('b')}", False),
        (NO_FIT + f"{MORE.format('a')}. Pending the preemption of 1 workload(s)", False),
        (NO_FIT + f"{MORE.format('a')}, topology \"t\" allows to fit only 1 out of 2 pod(s)", False),
        ("something else", False),
        ("", False),
    ],
)  # fmt: skip
def test_what_can_never_fit_is_known_by_every_flavor_of_a_pod_set(
    message: str, never: bool
) -> None:
    assert kueue_workload.never_fits(message, None) is never


def test_a_flavor_that_the_message_does_not_name_may_fit() -> None:
    message = NO_FIT + MORE.format("a")
    assert kueue_workload.never_fits(message, cluster_queue("", "", "a"))
    assert not kueue_workload.never_fits(message, cluster_queue("", "", "a", "b"))


def test_a_jobset_without_workload_is_waited_for_a_minute() -> None:
    said = f"{HEAD}: Kueue made no Workload of it since 2026-11-22T13:00:00Z"
    assert of(Queueing()) == QueuedWorkload(causes.NO_WORKLOAD, said)
    late = of(Queueing(), MADE + timedelta(seconds=61))
    assert late == QueuedWorkload(causes.NOT_MANAGED, said)
    assert late.ended() == f"{said}; {causes.NOT_MANAGED.help}"


def test_a_priority_class_that_is_missing_is_named() -> None:
    assert of(Queueing(missing="WorkloadPriorityClass high")) == QueuedWorkload(
        causes.PRIORITY_CLASS,
        f"{HEAD}: Kueue makes no Workload of it, because there is no WorkloadPriorityClass high",
    )


def test_what_may_not_be_read_or_was_not_read_ends_nothing() -> None:
    for each in (None, Queueing(readable=False)):
        assert of(each) == QueuedWorkload(causes.PENDING, HEAD)
        assert of(each).ended() == ""


def test_only_a_suspended_jobset_in_a_queue_that_stays_waits_for_kueue() -> None:
    leaving = jobset(deletionTimestamp="2026-11-22T13:00:01Z")
    for each in (jobset(""), jobset(suspend=False), leaving):
        assert kueue_workload.waiting_workload(each, Queueing(served=False), NOW) is None
    assert of(Queueing(served=False)).cause is causes.ABSENT


def test_each_cause_that_ends_a_gate_says_what_to_do() -> None:
    assert len({each.id for each in causes.CAUSES}) == len(causes.CAUSES)
    assert [each.id for each in causes.CAUSES if each.ends and not each.help] == []


def test_the_documentation_lists_every_cause_and_what_a_gate_does() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kubernetes.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `kueue-")]
    assert rows == [
        f"| `{each.id}` | {each.read} | {'yes' if each.ends else 'no'} | "
        f"{each.help or 'Kueue goes on by itself'} |"
        for each in causes.CAUSES
    ]
