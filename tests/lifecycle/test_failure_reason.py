"""Pods' status in -> typed reasons out. The texts are what Kubernetes 1.34 writes."""

from typing import Any

import pytest

from tests.lifecycle.worlds import pod, terminated, waits
from trainer_infra.lifecycle import failure_reason
from trainer_infra.lifecycle.failure_reason import FailureKind, FailureReason


def disrupted(reason: str, message: str, at: int = 10) -> dict[str, Any]:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": f"2026-11-21T12:00:{at:02}Z",
    }


UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
}


@pytest.mark.parametrize(
    ("failed", "reason", "sentence"),
    [
        (
            pod("p", terminated(1, reason="Error", message="Traceback\n  ValueError: x\n")),
            FailureReason(FailureKind.EXIT_CODE, "p", "node", 1, "Traceback\n  ValueError: x\n"),
            "pod p: container node ended with exit code 1: Traceback ValueError: x",
        ),
        (
            pod("p", terminated(137, reason="OOMKilled")),
            FailureReason(FailureKind.OUT_OF_MEMORY, "p", "node", 137),
            "pod p: container node ran out of memory and was ended with exit code 137",
        ),
        (
            pod("p", terminated(139, reason="Error")),
            FailureReason(FailureKind.EXIT_CODE, "p", "node", 139),
            (
                "pod p: container node ended with exit code 139: "
                "a segmentation fault (SIGSEGV), commonly in the native code of a library"
            ),
        ),
        (
            pod("p", terminated(128, reason="StartError", message="exec: no such file")),
            FailureReason(FailureKind.CANNOT_START, "p", "node", 128, "exec: no such file"),
            "pod p: container node cannot start with exit code 128: exec: no such file",
        ),
        (
            pod("p", terminated(137), conditions=[disrupted("PreemptionByScheduler", "for q")]),
            FailureReason(FailureKind.PREEMPTED, "p", message="for q"),
            "pod p: preempted for a pod of higher priority: for q",
        ),
        (
            pod("p", conditions=[disrupted("EvictionByEvictionAPI", "Eviction API: evicting")]),
            FailureReason(FailureKind.EVICTED, "p", message="Eviction API: evicting"),
            "pod p: evicted from its node: Eviction API: evicting",
        ),
        (
            pod("p", conditions=[disrupted("TerminationByKubelet", "low on memory")]),
            FailureReason(FailureKind.EVICTED, "p", message="low on memory"),
            "pod p: evicted from its node: low on memory",
        ),
        (
            pod("p", conditions=[disrupted("DeletionByTaintManager", "node unreachable")]),
            FailureReason(FailureKind.NODE_LOST, "p", message="node unreachable"),
            "pod p: its node was lost: node unreachable",
        ),
        (
            pod("p", conditions=[disrupted("DeletionByPodGC", "node is gone")]),
            FailureReason(FailureKind.NODE_LOST, "p", message="node is gone"),
            "pod p: its node was lost: node is gone",
        ),
        (
            pod("p", reason="Evicted", message="The node was low on resource: memory."),
            FailureReason(
                FailureKind.EVICTED, "p", message="The node was low on resource: memory."
            ),
            "pod p: evicted from its node: The node was low on resource: memory.",
        ),
        (
            pod("p", reason="NodeLost"),
            FailureReason(FailureKind.NODE_LOST, "p"),
            "pod p: its node was lost",
        ),
    ],
)
def test_why_a_pod_failed(failed: dict[str, Any], reason: FailureReason, sentence: str) -> None:
    assert failure_reason.first_failure([failed]) == reason
    assert reason.sentence() == sentence


@pytest.mark.parametrize(
    ("pending", "reason", "sentence"),
    [
        *(
            (
                pod("p", waits(why, "not found"), phase="Pending"),
                FailureReason(FailureKind.IMAGE_PULL, "p", "node", message="not found"),
                "pod p: the image of container node cannot be pulled: not found",
            )
            for why in ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")
        ),
        (
            pod("p", waits("CreateContainerConfigError", 'secret "s" not found'), phase="Pending"),
            FailureReason(FailureKind.CANNOT_START, "p", "node", message='secret "s" not found'),
            'pod p: container node cannot start: secret "s" not found',
        ),
        (
            pod("p", phase="Pending", conditions=[UNSCHEDULABLE]),
            FailureReason(FailureKind.UNSCHEDULABLE, "p", message=UNSCHEDULABLE["message"]),
            f"pod p: no node has a place for it: {UNSCHEDULABLE['message']}",
        ),
        (
            pod(
                "p",
                {
                    **waits("CrashLoopBackOff", "back-off 10s"),
                    "lastState": {"terminated": {"exitCode": 127}},
                },
                phase="Running",
            ),
            FailureReason(FailureKind.CRASH_LOOP, "p", "node", 127),
            (
                "pod p: container node fails again and again, last with exit code 127: "
                "the command was not found"
            ),
        ),
    ],
)
def test_why_a_pod_does_not_start(
    pending: dict[str, Any], reason: FailureReason, sentence: str
) -> None:
    assert failure_reason.waiting_reasons([pending]) == (reason,)
    assert failure_reason.first_failure([pending]) == reason
    assert reason.sentence() == sentence


@pytest.mark.parametrize(
    "healthy",
    [
        pod("p", phase="Running"),
        pod("p", waits("ContainerCreating"), phase="Pending"),
        pod("p", terminated(0), phase="Succeeded"),
        pod(
            "p",
            phase="Pending",
            conditions=[{**UNSCHEDULABLE, "reason": "SchedulingGated"}],
        ),
        {"metadata": {"name": "p"}},
    ],
)
def test_a_healthy_pod_has_no_reason(healthy: dict[str, Any]) -> None:
    assert failure_reason.first_failure([healthy]) is None
    assert failure_reason.waiting_reasons([healthy]) == ()


def test_the_pod_that_failed_first_is_the_reason() -> None:
    pods = [pod("a", terminated(1, at=12)), pod("b", terminated(2, at=11))]
    found = failure_reason.first_failure(pods)
    assert found is not None
    assert found.pod == "b"


def test_at_the_same_second_those_that_were_only_ended_with_the_others_come_last() -> None:
    ended, own, memory, preempted = (
        pod("a", terminated(143)),
        pod("b", terminated(1)),
        pod("c", terminated(137, reason="OOMKilled")),
        pod("d", conditions=[disrupted("PreemptionByScheduler", "m")]),
    )
    kinds = [
        getattr(failure_reason.first_failure(pods), "pod", None)
        for pods in ([ended, own], [ended, own, memory], [ended, own, preempted])
    ]
    assert kinds == ["b", "c", "d"]


def test_a_failed_pod_goes_before_one_that_was_restarted_and_runs() -> None:
    restarted = pod(
        "a",
        {
            "name": "node",
            "state": {"running": {}},
            "lastState": terminated(1, at=1)["state"],
        },
        phase="Running",
    )
    found = failure_reason.first_failure([restarted, pod("b", terminated(2, at=30))])
    assert found is not None
    assert (found.pod, found.exit_code) == ("b", 2)
    alone = failure_reason.first_failure([restarted])
    assert alone is not None
    assert (alone.pod, alone.exit_code) == ("a", 1)


def test_an_init_container_is_named_too() -> None:
    failed = pod("p", initContainerStatuses=[terminated(3, name="fetch")])
    assert failure_reason.first_failure([failed]) == FailureReason(
        FailureKind.EXIT_CODE, "p", "fetch", 3
    )


def test_of_many_waiting_pods_the_first_of_each_kind_speaks() -> None:
    pods = [
        pod("b", waits("ErrImagePull"), phase="Pending"),
        pod("a", waits("ImagePullBackOff"), phase="Pending"),
        pod("c", phase="Pending", conditions=[UNSCHEDULABLE]),
    ]
    assert [(each.kind, each.pod) for each in failure_reason.waiting_reasons(pods)] == [
        (FailureKind.IMAGE_PULL, "a"),
        (FailureKind.UNSCHEDULABLE, "c"),
    ]


def test_of_a_long_message_the_end_is_shown() -> None:
    reason = FailureReason(FailureKind.EXIT_CODE, "p", "node", 1, "x" * 1000 + "ValueError: last")
    assert reason.sentence().endswith("ValueError: last")
    assert len(reason.sentence()) < 600


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        (None, ""),
        (0, ""),
        (1, ""),
        (127, "the command was not found"),
        (129, "ended by SIGHUP"),
        (137, "killed (SIGKILL), commonly for memory: let it use less, or give it more"),
        (139, "a segmentation fault (SIGSEGV), commonly in the native code of a library"),
        (152, "ended by SIGXCPU"),
        (255, ""),
    ],
)
def test_an_exit_code_of_a_signal_says_which(code: int | None, meaning: str) -> None:
    assert failure_reason.exit_code_meaning(code) == meaning
