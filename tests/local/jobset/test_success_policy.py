from typing import Any

import pytest

from tests.local.jobset.worlds import at, failed, jobset, replicated, running, succeeded
from trainer_infra.local.jobset.decide import JobSetState, decide
from trainer_infra.local.jobset.pods import ObservedPod, PodId

JOBS = (replicated("launcher"), replicated("node", 2))
ONE_NODE = (running("launcher"), succeeded("node", 0), running("node", 1))
NODES = (running("launcher"), succeeded("node", 0), succeeded("node", 1))
LAUNCHER = (succeeded("launcher"), running("node", 0), running("node", 1))


@pytest.mark.parametrize(
    ("policy", "pods", "done"),
    [
        (None, NODES, False),
        ({"operator": "All"}, NODES, False),
        ({"operator": "All", "targetReplicatedJobs": ["node"]}, NODES, True),
        ({"operator": "All", "targetReplicatedJobs": ["launcher"]}, NODES, False),
        ({"operator": "All", "targetReplicatedJobs": ["launcher"]}, LAUNCHER, True),
        ({"operator": "Any"}, ONE_NODE, False),
        ({"operator": "Any"}, NODES, True),
        ({"operator": "Any", "targetReplicatedJobs": ["launcher"]}, NODES, False),
    ],
)
def test_which_jobs_must_succeed(policy: Any, pods: tuple[ObservedPod, ...], done: bool) -> None:
    spec = jobset(*JOBS, **({"successPolicy": policy} if policy else {}))
    assert ("terminalState" in decide("tj", spec, pods, JobSetState(), at(2)).status) == done


@pytest.mark.parametrize(
    ("rules", "done"),
    [
        ([{"succeededIndexes": "0"}], True),
        ([{"succeededIndexes": "1-3"}], False),
        ([{"succeededIndexes": "1"}, {"succeededIndexes": "0,2"}], True),
        ([{"succeededIndexes": "0-2"}], False),
        ([{"succeededIndexes": "0-2", "succeededCount": 2}], True),
        ([{"succeededIndexes": "1,3", "succeededCount": 1}], False),
        ([{"succeededCount": 2}], True),
        ([{"succeededCount": 3}], False),
    ],
)
def test_a_job_is_complete_by_a_policy_of_its_own(rules: Any, done: bool) -> None:
    spec = jobset(replicated("node", 4, successPolicy={"rules": rules}))
    pods = (succeeded("node", 0), running("node", 1), succeeded("node", 2))
    decision = decide("tj", spec, pods, JobSetState(), at(2))
    assert ("terminalState" in decision.status, PodId("node", 0, 1) in decision.stop) == (
        done,
        done,
    )
    assert bool(decision.start) != done


def test_pods_of_a_complete_job_are_stopped_while_others_go_on() -> None:
    policy = {"rules": [{"succeededIndexes": "0"}]}
    spec = jobset(replicated("launcher"), replicated("node", 2, successPolicy=policy))
    pods = (running("launcher"), succeeded("node", 0), running("node", 1))
    decision = decide("tj", spec, pods, JobSetState(), at(2))
    assert (decision.stop, decision.start) == ((PodId("node", 0, 1),), ())
    assert "terminalState" not in decision.status


def test_what_still_runs_at_success_is_stopped() -> None:
    policy = {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    decision = decide("tj", jobset(*JOBS, successPolicy=policy), LAUNCHER, JobSetState(), at(2))
    assert decision.stop == (PodId("node", 0, 0), PodId("node", 0, 1))
    assert decision.status["terminalState"] == "Completed"


def test_a_failure_comes_before_a_success() -> None:
    spec = jobset(*JOBS, successPolicy={"operator": "Any"})
    decision = decide("tj", spec, (succeeded("launcher"), failed("node", 0)), JobSetState(), at(2))
    assert decision.status["terminalState"] == "Failed"


def test_a_jobset_without_any_job_is_not_completed() -> None:
    decision = decide("tj", jobset(replicated("node", replicas=0)), (), JobSetState(), at(2))
    assert "terminalState" not in decision.status
