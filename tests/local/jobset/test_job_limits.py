"""What fails a Job: backoffLimit, podFailurePolicy, backoffLimitPerIndex, activeDeadlineSeconds."""

from dataclasses import replace
from typing import Any

import pytest

from tests.local.jobset.worlds import (
    World,
    at,
    failed,
    jobset,
    replicated,
    running,
    start,
    stopped,
    succeeded,
)
from trainer_infra.local.jobset import job as job_module
from trainer_infra.local.jobset import replicated_job
from trainer_infra.local.jobset.decide import JobSetState, decide, find_failure
from trainer_infra.local.jobset.job import JobFailure
from trainer_infra.local.jobset.pods import ObservedPod, PodId

NOW = 100.0


def failure(pods: tuple[ObservedPod, ...], now: float = NOW, **job: Any) -> JobFailure | None:
    spec = jobset(replicated("node", 4, **job))
    (only,) = job_module.observe_job("tj", replicated_job.read_jobs(spec), pods, run=0, attempt=0)
    return find_failure(only, at(now), suspended=False)


def tries(count: int, index: int = 0) -> tuple[ObservedPod, ...]:
    return tuple(failed("node", index, after, retry=after) for after in range(count))


@pytest.mark.parametrize(
    ("policy", "limit", "allowed"),
    [
        ("Never", None, 0),
        ("Never", 0, 0),
        ("Never", 1, 1),
        ("Never", 3, 3),
        ("OnFailure", None, 0),
        ("OnFailure", 0, 0),
        ("OnFailure", 1, 0),
        ("OnFailure", 3, 2),
    ],
)
def test_how_many_failures_a_job_survives(policy: str, limit: int | None, allowed: int) -> None:
    job: dict[str, Any] = {
        "restart_policy": policy,
        **({} if limit is None else {"backoffLimit": limit}),
    }
    assert failure(tries(allowed), **job) is None
    assert failure(tries(allowed + 1), **job) == JobFailure(
        reason="BackoffLimitExceeded",
        message="Job has reached the specified backoff limit",
        at=at(allowed),
    )


def test_failures_of_all_indexes_add_up() -> None:
    pods = (failed("node", 0, 1), failed("node", 1, 2))
    assert failure(pods, backoffLimit=2) is None
    found = failure(pods, backoffLimit=1)
    assert found is not None
    assert found.at == at(2)


def test_in_place_retries_of_an_index_that_succeeded_do_not_count() -> None:
    pods = (*tries(2), succeeded("node", 0, retry=2), failed("node", 1, 9))
    assert failure(pods, backoffLimit=2, restart_policy="OnFailure") is None
    assert failure(pods, backoffLimit=2) is not None


def test_a_try_that_was_stopped_counts_neither_way() -> None:
    assert failure((stopped("node"),)) is None


def test_a_complete_job_has_not_failed() -> None:
    pods = tuple(succeeded("node", index) for index in range(4))
    assert failure((failed("node", 0, 0), *pods)) is None


@pytest.mark.parametrize(
    ("rule", "pod", "counts", "fails"),
    [
        ({"operator": "In", "values": [42]}, failed("node", code=42), False, True),
        ({"operator": "In", "values": [42]}, failed("node", code=41), True, False),
        ({"operator": "NotIn", "values": [42]}, failed("node", code=41), False, True),
        ({"operator": "NotIn", "values": [42]}, failed("node", code=42), True, False),
        (
            {"operator": "In", "values": [42], "containerName": "node"},
            failed("node", code=42),
            False,
            True,
        ),
        (
            {"operator": "In", "values": [42], "containerName": "other"},
            failed("node", code=42),
            True,
            False,
        ),
        (
            {"operator": "NotIn", "values": [42]},
            replace(failed("node"), exit_code=None, reason="StartError"),
            True,
            False,
        ),
    ],
)
def test_which_exit_codes_a_rule_matches(
    rule: dict[str, Any], pod: ObservedPod, counts: bool, fails: bool
) -> None:
    def policy(action: str) -> dict[str, Any]:
        return {"rules": [{"action": action, "onExitCodes": rule}]}

    assert (failure((pod,), podFailurePolicy=policy("Ignore")) is not None) == counts
    failing = failure((pod,), podFailurePolicy=policy("FailJob"), backoffLimit=9)
    assert (failing is not None) == fails


def test_a_rule_that_fails_the_job_says_which_container_and_rule() -> None:
    rules = [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
        {"action": "Count", "onExitCodes": {"operator": "In", "values": [1]}},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 42]}},
    ]
    pods = (failed("node", 0, 1), failed("node", 3, 2, code=42))
    assert failure(pods, podFailurePolicy={"rules": rules}, backoffLimit=9) == JobFailure(
        reason="PodFailurePolicy",
        message="Container node for pod tj-node-0-3 failed with exit code 42"
        " matching FailJob rule at index 2",
        at=at(2),
    )


def test_an_ignored_failure_is_tried_again_with_its_backoff() -> None:
    policy = {"rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]}
    world = World(jobset(replicated("node", podFailurePolicy=policy)))
    for wait in (1, 2, 4):
        world.step()
        world.end("node", 1)
        assert world.decide().wake_after == wait
        world.seconds += wait


PER_INDEX = {"backoffLimitPerIndex": 1}


@pytest.mark.parametrize(
    ("pods", "more", "expected"),
    [
        pytest.param(tries(2), {}, None, id="one failed index does not fail the job"),
        pytest.param(
            (*tries(2), *(succeeded("node", index) for index in (1, 2, 3))),
            {},
            ("FailedIndexes", at(1)),
            id="but it has failed when nothing else is left",
        ),
        pytest.param(
            (*tries(2), failed("node", 1, 2), failed("node", 1, 3, retry=1)),
            {"maxFailedIndexes": 1},
            ("MaxFailedIndexesExceeded", at(3)),
            id="more failed indexes than allowed",
        ),
        pytest.param(
            (*tries(1), failed("node", 1, 2)),
            {"backoffLimit": 1},
            ("BackoffLimitExceeded", at(2)),
            id="the limit of the whole job holds too",
        ),
    ],
)
def test_indexes_that_fail_on_their_own(
    pods: tuple[ObservedPod, ...], more: dict[str, Any], expected: Any
) -> None:
    found = failure(pods, **PER_INDEX, **more)
    assert (found and (found.reason, found.at)) == expected


def test_a_failed_index_is_not_tried_again() -> None:
    rule = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [7]}}
    job = replicated("node", 2, **PER_INDEX, podFailurePolicy={"rules": [rule]})
    pods = (failed("node", 0, 1, code=7), failed("node", 1, 1))
    assert decide("tj", jobset(job), pods, JobSetState(), at(9)).start == (
        start("node", 1, seconds=9, retry=1),
    )


def test_the_deadline_counts_from_the_first_pod() -> None:
    pods = (running("node", 0), running("node", 1, started=at(5)))
    assert failure(pods, now=9, activeDeadlineSeconds=10) is None
    assert failure(pods, now=10, activeDeadlineSeconds=10) == JobFailure(
        reason="DeadlineExceeded",
        message="Job was active longer than specified deadline",
        at=at(10),
    )


def test_the_next_call_is_due_at_the_deadline() -> None:
    spec = jobset(replicated("node", activeDeadlineSeconds=10))
    assert decide("tj", spec, (running("node"),), JobSetState(), at(4)).wake_after == 6
    late = decide("tj", spec, (running("node"),), JobSetState(), at(10))
    assert (late.stop, late.wake_after) == ((PodId("node", 0, 0),), None)


def test_a_complete_job_s_deadline_is_no_reason_to_wake_up() -> None:
    spec = jobset(replicated("init", activeDeadlineSeconds=10), replicated("node"))
    pods = (succeeded("init"), running("node"))
    assert decide("tj", spec, pods, JobSetState(), at(4)).wake_after is None


def test_a_failed_pod_waits_twice_as_long_each_time() -> None:
    world = World(jobset(replicated("node", backoffLimit=99)))
    waits = []
    for _ in range(8):
        world.step()
        world.end("node", 1)
        wait = world.decide().wake_after
        assert wait is not None
        waits.append(wait)
        world.seconds += wait
    assert waits == [1, 2, 4, 8, 16, 32, 36, 36]


def test_one_failed_pod_does_not_disturb_the_others() -> None:
    spec = jobset(replicated("node", 2, backoffLimit=1))
    decision = decide("tj", spec, (running("node", 0), failed("node", 1, 1)), JobSetState(), at(1))
    assert decision.stop == ()
    assert decision.start == (start("node", 1, seconds=2, retry=1),)
    assert decision.wake_after == 1
