"""A pod that was told to end and ended with 0 is no success of its run, and every other pod that succeeded is one.

Times are seconds after CREATED; a pod ends at 10 unless a test says otherwise.
"""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lifecycle.worlds import CREATED, NOW, RUNTIME, condition, job, jobset, seen, terminated
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle import admission, conditions, early_end
from trainer_infra.lifecycle.admission import Before
from trainer_infra.lifecycle.plan import plan
from trainer_infra.render.behaviour import OURS, REFERENCE
from trainer_infra.render.observed_objects import ObservedObjects

DONE = condition("Completed", "True", "AllJobsCompleted", "jobset completed successfully")
COUNTED = " and ended with 0, which Kubernetes counts as success although the training may not have reached its end"
ADVICE = (
    ": make the program end with 143 on SIGTERM, as trainer_infra.checkpoint does, and run it again"
)
KUBELET = {"Killing": "Stopping container node", "Started": "Started container node"}


def at(second: int) -> str:
    return conditions.timestamp(CREATED + timedelta(seconds=second))


def pod_of(
    index: int | None = 0,
    *,
    uid: str = "j",
    name: str = "",
    deleted: int | None = None,
    ended: int = 10,
    code: int = 0,
    why: str = "",
) -> dict[str, Any]:
    """A pod of Job tj-node-0 that has ended; it was `deleted` with 30 seconds of grace, `why` by Kubernetes."""
    labels = {"batch.kubernetes.io/controller-uid": uid}
    if index is not None:
        labels["batch.kubernetes.io/job-completion-index"] = str(index)
    metadata: dict[str, Any] = {"name": name or f"tj-node-0-{index}-abcde", "labels": labels}
    if deleted is not None:
        grace = {"deletionGracePeriodSeconds": 30, "deletionTimestamp": at(deleted + 30)}
        metadata |= {**grace, "finalizers": ["batch.kubernetes.io/job-tracking"]}
    disrupted = condition("DisruptionTarget", "True", why)
    status = {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [disrupted] if why else [],
        "containerStatuses": [terminated(code, ended)],
    }
    return {"metadata": metadata, "status": status}


def job_of(indexes: str = "0-1", *, done: bool = True, **metadata: str) -> dict[str, Any]:
    """Job tj-node-0 with the indexes that have succeeded."""
    found = [condition("Complete", "True", "CompletionsReached")] if done else []
    named = {"name": "tj-node-0", "uid": "j", **metadata}
    return {"metadata": named, "status": {"completedIndexes": indexes, "conditions": found}}


def event(pod: str, reason: str, second: int, message: str = "", path: str = "") -> dict[str, Any]:
    """An event of a container of a pod."""
    about = {"kind": "Pod", "name": pod, "fieldPath": path or "spec.containers{node}"}
    said = {"reason": reason, "message": message or KUBELET[reason]}
    return {"involvedObject": about, "metadata": {"creationTimestamp": at(second)}, **said}


def ended(observed: ObservedObjects, behaviour: Any = OURS) -> tuple[str, str, str]:
    """Type, reason and message of the condition with which a run of two nodes ends."""
    going = job()
    whole = seen(going, jobset(going, DONE))
    observed = replace(observed, jobset=whole.jobset, snapshot=whole.snapshot)
    status = plan(going, RUNTIME, observed, NOW, behaviour).status or {}
    (found,) = status["conditions"]
    assert found["lastTransitionTime"] == DONE["lastTransitionTime"]
    return found["type"], found["reason"], found["message"]


def world(*pods: Any, jobs: Any = None, events: Any = None) -> ObservedObjects:
    found = (job_of(),) if jobs is None else tuple(jobs)
    told = None if events is None else tuple(events)
    return ObservedObjects(None, pods=pods, jobs=found, pod_events=told)


COMPLETE = ("Complete", "AllJobsCompleted", "jobset completed successfully")


def early(how: str, pod: str = "tj-node-0-1-abcde", more: str = "") -> tuple[str, str, str]:
    return "Failed", "EndedEarly", f"pod {pod} {how}{COUNTED}{more}{ADVICE}"


@pytest.mark.parametrize(
    ("why", "how"),
    [
        ("", "was deleted"),
        ("EvictionByEvictionAPI", "was evicted from its node"),
        ("PreemptionByScheduler", "was preempted for a pod of higher priority"),
        ("DeletionByTaintManager", "was evicted from its node for a taint"),
        ("ReasonOfTomorrow", "was deleted"),
    ],
)
@pytest.mark.parametrize("deleted", [3, 9, 10])
def test_early_end_of_a_pod_that_was_told_to_end_fails_its_run(
    why: str, how: str, deleted: int
) -> None:
    told = pod_of(1, deleted=deleted, why=why)
    assert ended(world(pod_of(0), told)) == early(how)
    assert ended(world(pod_of(0), told), REFERENCE) == COMPLETE


@pytest.mark.parametrize("why", ["", "EvictionByEvictionAPI", "DeletionByTaintManager"])
def test_a_pod_that_is_removed_after_it_has_ended_has_ended_well(why: str) -> None:
    assert ended(world(pod_of(0), pod_of(1, deleted=11, why=why))) == COMPLETE


def test_a_disruption_that_did_not_come_to_a_deletion_told_nobody() -> None:
    assert ended(world(pod_of(0), pod_of(1, why="PreemptionByScheduler"))) == COMPLETE


def test_a_pod_that_was_made_anew_in_place_of_one_that_was_told_to_end_counts() -> None:
    told = pod_of(1, name="tj-node-0-1-first", deleted=3)
    assert ended(world(pod_of(0), told, pod_of(1, ended=20))) == COMPLETE


@pytest.mark.parametrize("code", [1, 137, 143])
def test_a_pod_that_was_told_to_end_and_says_so_is_made_anew_and_ends_nothing(code: int) -> None:
    told = pod_of(1, name="tj-node-0-1-first", deleted=3, code=code)
    assert ended(world(pod_of(0), told, pod_of(1))) == COMPLETE


def test_a_pod_of_the_jobs_before_a_restart_does_not_count() -> None:
    """JobSet made them anew under the same names, and so it does for who deletes one."""
    before = pod_of(1, name="tj-node-0-1-first", uid="before", deleted=3)
    assert ended(world(before, pod_of(0), pod_of(1, ended=20))) == COMPLETE


def test_pods_of_a_job_that_the_run_does_not_wait_for_are_told_to_end_by_right() -> None:
    """JobSet's success policy, MPI's for example: it deletes Jobs that go on."""
    rest = job_of("0", done=False, name="tj-other-0", uid="o")
    told = pod_of(0, uid="o", name="tj-other-0-0-abcde", deleted=3)
    assert ended(world(pod_of(0), pod_of(1), told, jobs=(job_of(), rest))) == COMPLETE


def test_an_initializer_that_was_told_to_end_fails_the_run_too() -> None:
    fetches = job_of("0", name="tj-model-initializer-0", uid="m")
    told = pod_of(0, uid="m", name="tj-model-initializer-0-0-abcde", deleted=3)
    found = ended(world(pod_of(0), pod_of(1), told, jobs=(fetches, job_of())))
    assert found == early("was deleted", "tj-model-initializer-0-0-abcde")


def test_of_many_early_ends_one_is_named() -> None:
    pods = [pod_of(index, deleted=3, why="EvictionByEvictionAPI") for index in range(2_000)]
    found = ended(world(*pods, jobs=(job_of("0-1999"),)))
    assert found == early("was evicted from its node", "tj-node-0-0-abcde", "; so did 1999 more")


def test_pods_of_a_job_without_indexes_are_told_apart_by_name() -> None:
    pods = [pod_of(None, name=f"tj-node-0-{each}") for each in ("abcde", "fghij")]
    told = pod_of(None, name="tj-node-0-zzzzz", deleted=3)
    assert ended(world(*pods, told, jobs=(job_of(""),))) == early("was deleted", "tj-node-0-zzzzz")


FIRST, SECOND = "tj-node-0-1-abcde", "tj-node-0-1-fghij"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([event(FIRST, "Started", 1), event(FIRST, "Killing", 5)], early("was told to end")),
        ([event(FIRST, "Killing", 5)], early("was told to end")),
        ([event(FIRST, "Started", 1)], COMPLETE),
        # One that was made anew ended by itself, also when it began in the same second.
        ([event(FIRST, "Killing", 5), event(SECOND, "Started", 7)], COMPLETE),
        ([event(SECOND, "Started", 5), event(FIRST, "Killing", 5)], COMPLETE),
        # And this one was told to end as well.
        (
            [event(FIRST, "Killing", 5), event(SECOND, "Started", 7), event(SECOND, "Killing", 9)],
            early("was told to end", SECOND),
        ),
        (
            [
                event(FIRST, "Started", 1),
                event(
                    FIRST, "Killing", 5, "Container node failed liveness probe, will be restarted"
                ),
            ],
            COMPLETE,
        ),
        (
            [
                event(FIRST, "Started", 1),
                event(FIRST, "Killing", 5, "Stopping container log", "spec.initContainers{log}"),
            ],
            COMPLETE,
        ),
    ],
)
def test_of_a_pod_that_is_gone_the_kubelets_events_tell(events: Any, expected: Any) -> None:
    others = [event("tj-node-0-11-abcde", "Killing", 8), event("tj-node-0-1", "Killing", 8)]
    assert ended(world(pod_of(0), events=(*others, *events))) == expected


def test_where_nothing_is_left_of_a_pod_the_run_is_complete_and_says_so() -> None:
    kind, reason, message = COMPLETE
    doubt = "that tells whether it was told to end before its training had"
    one = f"{message}; nothing is left of pod tj-node-0-1 {doubt}"
    assert ended(world(pod_of(0), events=())) == (kind, reason, one)
    many = f"{message}; nothing is left of pod tj-node-0-0 and of 2 more {doubt}"
    found = ended(world(jobs=(job_of("0,5-6"),), events=()))
    assert found == (kind, reason, many)


def test_a_driver_that_did_not_ask_for_events_has_no_doubt() -> None:
    assert ended(world(pod_of(0))) == COMPLETE
    assert early_end.pod_ends(world(pod_of(0))).unknown == ("tj-node-0-1",)


@given(st.permutations([pod_of(0), pod_of(1, deleted=3), pod_of(2, deleted=12), pod_of(3)]))
def test_the_order_of_pods_does_not_matter(pods: list[dict[str, Any]]) -> None:
    found = early_end.pod_ends(world(*pods, jobs=(job_of("0-3"),)))
    assert found == early_end.PodEnds(("pod tj-node-0-1-abcde was deleted",))


def test_a_pod_that_was_seen_to_go_is_remembered_whatever_its_nodes_clock_says() -> None:
    slow = pod_of(1, deleted=20, ended=10, why="EvictionByEvictionAPI")
    assert not early_end.told(slow)
    text = json.dumps([early_end.as_noted(slow)])
    assert len(text) < 400
    (noted,) = early_end.noted_pods({"trainer-infra.dev/early-ends": text})
    assert ended(world(pod_of(0), dict(noted))) == early("was evicted from its node")


def test_a_pod_that_was_seen_to_be_deleted_is_remembered_so() -> None:
    noted = early_end.as_noted(pod_of(1, deleted=3))
    assert ended(world(pod_of(0), dict(noted))) == early("was deleted")


DAMAGED = (
    *("", "{", "[1]", "1", "null", '"a"', '{"a": 1}', "[{}]", '[{"metadata": 1}]'),
    '[{"metadata": {"labels": 1}}]',
    '[{"metadata": {"name": "a", "deletionTimestamp": ""}}]',
    '[{"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "j"}, "deletionTimestamp": ""}}]',
)


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_note_says_nothing(text: str) -> None:
    assert early_end.noted_pods({"trainer-infra.dev/early-ends": text}) == ()


def test_who_notes_an_early_end_needs_no_runtime_for_it() -> None:
    def noted(**annotations: str) -> TrainJob:
        return job(metadata={"annotations": annotations})

    after = noted(**{"trainer-infra.dev/early-ends": "{}", "trainer-infra.dev/waiting": "for it"})
    before = Before(noted(), ObservedObjects(None))
    assert admission.judge_train_job(after, None, before).problems == ()


def test_only_a_pod_that_its_job_still_counts_ends_early() -> None:
    """The Job controller lets go of what it deletes itself: of a suspended Job, or one too many."""
    told = pod_of(1, deleted=3)
    assert early_end.is_early(told)
    let_go = {**told, "metadata": {**told["metadata"], "finalizers": []}}
    assert not early_end.is_early(let_go)
    assert not early_end.is_early(pod_of(1, deleted=11))
