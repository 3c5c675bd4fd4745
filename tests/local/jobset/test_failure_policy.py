from typing import Any

import pytest

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
)
from trainer_infra.local import unsupported_fields
from trainer_infra.local.jobset.decide import JobSetState, decide
from trainer_infra.local.jobset.pods import PodId

JOBS = (replicated("launcher"), replicated("node", 2))
FIRST = "(first failed job: tj-node-0)"
PODS = (running("launcher"), failed("node", 1, code=3))


def with_policy(*rules: dict[str, Any], **policy: Any) -> dict[str, Any]:
    return jobset(*JOBS, failurePolicy={**policy, **({"rules": list(rules)} if rules else {})})


@pytest.mark.parametrize(
    ("rules", "reason", "message"),
    [
        pytest.param(
            [],
            "ReachedMaxRestarts",
            f"jobset failed due to reaching max number of restarts {FIRST}",
            id="no rule and no restart",
        ),
        pytest.param(
            [{"action": "FailJobSet"}],
            "FailJobSetFailurePolicyAction",
            f"applying FailJobSet failure policy action {FIRST}",
            id="a rule that fits everything",
        ),
        pytest.param(
            [{"action": "FailJobSet", "targetReplicatedJobs": ["launcher"]}],
            "ReachedMaxRestarts",
            f"jobset failed due to reaching max number of restarts {FIRST}",
            id="a rule for another job",
        ),
        pytest.param(
            [{"action": "FailJobSet", "onJobFailureReasons": ["DeadlineExceeded"]}],
            "ReachedMaxRestarts",
            f"jobset failed due to reaching max number of restarts {FIRST}",
            id="a rule for another reason",
        ),
        pytest.param(
            [
                {"action": "FailJobSet", "onJobFailureMessagePatterns": ["["]},
                {"action": "FailJobSet", "onJobFailureMessagePatterns": ["x", "backoff l.mit$"]},
            ],
            "FailJobSetFailurePolicyAction",
            f"applying FailJobSet failure policy action {FIRST}",
            id="a pattern that is none and a pattern that fits",
        ),
    ],
)
def test_how_a_jobset_fails(rules: Any, reason: str, message: str) -> None:
    decision = decide("tj", with_policy(*rules), PODS, JobSetState(), at(2))
    expected = status(
        counts("launcher"),
        counts("node", failed=1),
        conditions=[condition("Failed", reason, message, 2)],
    )
    assert decision.status == {**expected, "terminalState": "Failed"}
    assert decision.stop == (PodId("launcher", 0, 0),)


def test_a_restart_stops_every_pod_and_starts_them_anew() -> None:
    world = World(with_policy(maxRestarts=1))
    world.step()
    world.seconds = 2
    world.end("node", 1, index=1)
    decision = world.step()
    assert decision.stop == (PodId("launcher", 0, 0), PodId("node", 0, 0))
    assert decision.start == ()
    message = f"applying RestartJobSet failure policy action {FIRST}"
    restarting = condition("RestartingJobSet", "DefaultFailurePolicy", message, 2)
    assert decision.status == status(
        counts("launcher"), counts("node"), conditions=[restarting], restarts=1, toward_max=1
    )
    decision = world.step()
    assert decision.start == (
        start("launcher", seconds=2, attempt=1),
        start("node", 0, seconds=2, attempt=1),
        start("node", 1, seconds=2, attempt=1),
    )
    world.seconds = 4
    ready = condition("RestartingJobSet", "JobsReady", "all jobs are ready", 4, on=False)
    assert world.step().status["conditions"] == [ready]


def test_restarts_are_counted_until_the_maximum() -> None:
    world = World(with_policy(maxRestarts=2))
    for _ in range(3):
        world.step()
        world.step()
        world.end("node", 1, index=1)
    decision = world.step()
    message = f"jobset failed due to reaching max number of restarts {FIRST}"
    assert decision.status["conditions"] == [
        condition("RestartingJobSet", "JobSetFailed", "jobset failed", 0, on=False),
        condition("Failed", "ReachedMaxRestarts", message, 0),
    ]
    assert decision.status["restarts"] == 2


def test_some_restarts_do_not_count() -> None:
    rule = {"name": "free", "action": "RestartJobSetAndIgnoreMaxRestarts"}
    world = World(with_policy(rule))
    for _ in range(3):
        world.step()
        world.step()
        world.end("node", 1, index=1)
    decision = world.decide()
    message = f"applying RestartJobSetAndIgnoreMaxRestarts failure policy action {FIRST}"
    assert decision.status == status(
        counts("launcher"),
        counts("node"),
        conditions=[condition("RestartingJobSet", "FailurePolicy_free", message, 0)],
        restarts=3,
    )


def test_the_first_rule_that_fits_decides_and_names_the_earliest_job_it_fits() -> None:
    rules = (
        {"action": "FailJobSet", "targetReplicatedJobs": ["node"]},
        {"action": "RestartJobSet", "targetReplicatedJobs": ["launcher"]},
    )
    pods = (failed("launcher", after=1), failed("node", after=2))
    decision = decide("tj", with_policy(*rules, maxRestarts=5), pods, JobSetState(), at(3))
    assert decision.status["conditions"][0]["message"].endswith("(first failed job: tj-node-0)")


def test_the_earliest_failed_job_is_named() -> None:
    pods = (failed("launcher", after=2), failed("node", after=1))
    decision = decide("tj", jobset(*JOBS), pods, JobSetState(), at(3))
    assert decision.status["conditions"][0]["message"].endswith("(first failed job: tj-node-0)")


@pytest.mark.parametrize(
    ("strategy", "starts"),
    [
        ("Recreate", (start("node", 0, attempt=1), start("node", 1, attempt=1))),
        ("BlockingRecreate", ()),
    ],
)
def test_a_job_starts_again_when_its_own_pods_or_all_have_ended(strategy: str, starts: Any) -> None:
    spec = with_policy(maxRestarts=1, restartStrategy=strategy)
    pods = (running("launcher"), failed("node", 0, 0), failed("node", 1, 0))
    decision = decide("tj", spec, pods, JobSetState(), at(0))
    assert decision.start == starts
    assert decision.stop == (PodId("launcher", 0, 0),)


def test_what_a_cluster_would_refuse_or_run_otherwise_is_named() -> None:
    job = replicated("node")
    rules = [{"action": "RestartJobSet"}, {"action": "RestartJob"}]
    spec = jobset(job, failurePolicy={"restartStrategy": "InPlaceRestart", "rules": rules})
    gated = "is behind a feature gate of JobSet that is off by default"
    assert [str(each) for each in unsupported_fields.unsupported_fields(spec)] == [
        f"spec.failurePolicy.rules[1].action: {gated}, got 'RestartJob'; use RestartJobSet",
        (
            f"spec.failurePolicy.restartStrategy: {gated}, got 'InPlaceRestart';"
            " use Recreate or BlockingRecreate"
        ),
    ]
    assert unsupported_fields.unsupported_fields(with_policy({"action": "FailJobSet"})) == ()
