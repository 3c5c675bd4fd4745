"""Whole worlds: pods in, decision out."""

import copy
from dataclasses import replace

from tests.local.jobset.worlds import (
    World,
    at,
    condition,
    counts,
    failed,
    jobset,
    replicated,
    running,
    start,
    status,
    succeeded,
)
from trainer_infra.local.jobset.decide import Decision, JobSetState, decide
from trainer_infra.local.jobset.pods import PodId
from trainer_infra.local.jobset.status import JobCounts

NODES = jobset(replicated("node", 2))


def test_a_new_jobset_starts_every_pod() -> None:
    assert decide("tj", NODES, (), JobSetState(), at(0)) == Decision(
        state=JobSetState(),
        start=(start("node", 0), start("node", 1)),
        stop=(),
        status=status(counts("node")),
        wake_after=None,
    )


def test_pods_that_run_are_left_alone() -> None:
    pods = (running("node", 0), running("node", 1, ready=False))
    assert decide("tj", NODES, pods, JobSetState(), at(1)) == Decision(
        state=JobSetState(),
        start=(),
        stop=(),
        status=status(counts("node", active=1)),
        wake_after=None,
    )


def test_a_job_is_ready_when_each_pod_is_ready_or_has_succeeded() -> None:
    pods = (running("node", 0), succeeded("node", 1))
    decision = decide("tj", NODES, pods, JobSetState(), at(1))
    assert decision.status == status(counts("node", active=1, ready=1))


def test_a_jobset_is_completed_when_every_job_has_succeeded() -> None:
    pods = (succeeded("node", 0, 1), succeeded("node", 1, 2))
    message = "jobset completed successfully"
    state = JobSetState(
        conditions=(condition("Completed", "AllJobsCompleted", message, 3),),
        ended=(JobCounts("node", succeeded=1),),
    )
    wire = status(
        counts("node", succeeded=1),
        conditions=[condition("Completed", "AllJobsCompleted", message, 3)],
    )
    assert decide("tj", NODES, pods, JobSetState(), at(3)) == Decision(
        state=state,
        start=(),
        stop=(),
        status={**wire, "terminalState": "Completed"},
        wake_after=None,
    )


def test_a_jobset_without_a_failure_policy_fails_with_its_first_failed_job() -> None:
    pods = (running("node", 0), failed("node", 1, 2, code=42))
    message = "jobset failed due to one or more job failures (first failed job: tj-node-0)"
    state = JobSetState(
        conditions=(condition("Failed", "FailedJobs", message, 3),),
        ended=(JobCounts("node", failed=1),),
    )
    wire = status(
        counts("node", failed=1),
        conditions=[condition("Failed", "FailedJobs", message, 3)],
    )
    assert decide("tj", NODES, pods, JobSetState(), at(3)) == Decision(
        state=state,
        start=(),
        stop=(PodId("node", 0, 0),),
        status={**wire, "terminalState": "Failed"},
        wake_after=None,
    )


def test_an_ended_jobset_stays_as_it_ended_whatever_its_pods_do() -> None:
    world = World(NODES)
    world.step()
    world.end("node", 42, index=1)
    first = world.decide()
    for code in (0, 1, 143):
        pods = (failed("node", 1, code=42), replace(failed("node", 0), exit_code=code))
        later = decide("tj", NODES, pods, world.state, at(1000))
        assert later == replace(first, stop=())


def test_the_same_input_gives_the_same_decision_and_is_not_changed() -> None:
    spec = jobset(
        replicated("a", 2, backoffLimit=3, activeDeadlineSeconds=60),
        replicated("b", depends_on=[("a", "Ready")]),
    )
    before = copy.deepcopy(spec)
    pods = (failed("a", 0), running("a", 1))
    first = decide("tj", spec, pods, JobSetState(), at(1))
    assert decide("tj", spec, pods, JobSetState(), at(1)) == first
    assert decide("tj", spec, pods, first.state, at(1)) == first
    assert spec == before


def test_a_start_that_was_not_executed_is_decided_again() -> None:
    world = World(NODES)
    first = world.decide()
    world.pods.append(running("node", 0))
    assert world.decide().start == first.start[1:]


def test_fewer_pods_run_at_a_time_than_there_are_completions() -> None:
    job = replicated("node", parallelism=2, completions=4)
    world = World(jobset(job))
    world.step()
    assert world.running == [("node", 0, 0), ("node", 1, 0)]
    world.end("node", 0, index=1)
    world.step()
    assert world.running == [("node", 0, 0), ("node", 2, 0)]
    for index in (0, 2, 3):
        world.step()
        world.end("node", 0, index=index)
    assert world.decide().status["terminalState"] == "Completed"


def test_each_replica_is_a_job_of_its_own() -> None:
    spec = jobset(replicated("node", replicas=3))
    pods = (succeeded("node"), running("node", replica=1), running("node", replica=2, ready=False))
    decision = decide("tj", spec, pods, JobSetState(), at(2))
    assert decision.status == status(counts("node", succeeded=1, active=2, ready=1))
