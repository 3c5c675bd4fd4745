"""Each cause for which a run does not go on is named, alone and among many, as docs/waiting.md says."""

import pytest

from tests.e2e.cluster import Namespace
from tests.e2e.jobs import Jobs, eventually
from tests.e2e.standstills import CASES, DISRUPTIVE, Case
from trainer_infra.runs import waiting_cause
from trainer_infra.runs.run import Run
from trainer_infra.runs.waiting_cause import AT_ONCE, GATES, SOON, Cause

QUEUES = {Cause.QUEUE}
"""Made where a real Kueue is: tests/e2e/disruptive/test_kueue.py."""
CLOSELY = {Cause.CLAIM_UNBOUND, Cause.IMAGE_PULLED, Cause.PREEMPTED}
"""Causes of which a list of many runs knows less: what it reads are troubles that end gates."""


@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.cause}-{case.note}".strip("-"))
def test_the_cause_is_named(case: Case, namespace: Namespace) -> None:
    jobs = Jobs(namespace)
    if case.cause is Cause.QUEUE_CLOSED and serves_kueue(namespace):
        pytest.skip("this cluster has Kueue: tests/cluster/test_without_kueue.py has the case")
    with case.made(namespace):
        eventually(lambda: case.ready(namespace))
        jobs.start(case.runtime(namespace), {"numNodes": case.nodes})
        case.then(namespace)

        def named() -> Run | None:
            run = jobs.now()
            return run if run.cause == case.cause and case.said in run.waiting_for else None

        run = eventually(named)
        limit = GATES[case.cause].ends_after
        assert bool(run.stuck) == (limit is not None and limit <= SOON)
        assert run.stuck in {"", run.waiting_for}
        (listed,) = jobs.cluster.list_runs(namespace.name).runs
        if case.cause not in CLOSELY:
            listed = eventually(lambda: among_many(jobs, case))
        assert (waiting_cause.ends_after(listed.cause) is None) == (limit is None)


def among_many(jobs: Jobs, case: Case) -> Run | None:
    """The run as a list of all has it, once it names the cause too."""
    (run,) = jobs.cluster.list_runs(jobs.namespace.name).runs
    return run if run.cause == case.cause and case.said in run.waiting_for else None


def serves_kueue(namespace: Namespace) -> bool:
    return "workloads" in namespace.kubectl("api-resources", "--api-group=kueue.x-k8s.io")


def test_every_cause_is_made_for_real() -> None:
    made = {case.cause for case in CASES} | set(DISRUPTIVE) | QUEUES
    assert made == set(Cause)


def test_what_ends_a_gate_at_once_is_what_nobody_else_changes() -> None:
    at_once = {cause for cause, gate in GATES.items() if gate.ends_after == AT_ONCE}
    assert at_once == {
        Cause.NODE_LOST,
        Cause.IMAGE,
        Cause.CONTAINER_CANNOT_START,
        Cause.INVALID,
        Cause.QUOTA_TOO_SMALL,
        Cause.QUOTA_UNANSWERED,
        Cause.LIMIT_RANGE,
        Cause.POD_SECURITY,
    }
