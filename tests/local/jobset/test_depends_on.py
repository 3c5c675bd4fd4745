import pytest

from tests.local.jobset.worlds import (
    World,
    at,
    failed,
    jobset,
    replicated,
    running,
    start,
    succeeded,
)
from trainer_infra.local.jobset.decide import JobSetState, decide
from trainer_infra.local.jobset.pods import ObservedPod

COMPLETE = jobset(replicated("init"), replicated("node", depends_on=[("init", "Complete")]))
READY = jobset(replicated("init", 2), replicated("node", depends_on=[("init", "Ready")]))


@pytest.mark.parametrize(
    ("pods", "starts"),
    [
        pytest.param((running("init"),), False, id="not while it runs"),
        pytest.param((succeeded("init"),), True, id="when it has succeeded"),
    ],
)
def test_complete_waits_for_every_job_s_success(
    pods: tuple[ObservedPod, ...], starts: bool
) -> None:
    decision = decide("tj", COMPLETE, pods, JobSetState(), at(1))
    assert decision.start == ((start("node", seconds=1),) if starts else ())


@pytest.mark.parametrize(
    ("pods", "starts"),
    [
        pytest.param(
            (running("init"), running("init", 1, ready=False)), False, id="not while one is unready"
        ),
        pytest.param((running("init"), running("init", 1)), True, id="when all are ready"),
        pytest.param((running("init"), succeeded("init", 1)), True, id="success is beyond ready"),
        pytest.param((succeeded("init"), succeeded("init", 1)), True, id="all succeeded"),
    ],
)
def test_ready_waits_for_every_pod(pods: tuple[ObservedPod, ...], starts: bool) -> None:
    decision = decide("tj", READY, pods, JobSetState(), at(1))
    assert decision.start == ((start("node", seconds=1),) if starts else ())


def test_a_job_that_has_started_is_retried_when_its_dependency_is_no_longer_ready() -> None:
    spec = jobset(replicated("init"), replicated("node", 2, depends_on=[("init", "Ready")]))
    spec["replicatedJobs"][1]["template"]["spec"]["backoffLimit"] = 3
    pods = (running("init", ready=False), running("node", 0), failed("node", 1, 1))
    decision = decide("tj", spec, pods, JobSetState(), at(5))
    assert decision.start == (start("node", 1, seconds=5, retry=1),)


def test_a_restart_runs_the_dependencies_again() -> None:
    world = World({**COMPLETE, "failurePolicy": {"maxRestarts": 1}})
    world.step()
    world.end("init", 0)
    world.step()
    world.end("node", 1)
    world.step()
    assert world.running == [("init", 0, 1)]


def test_a_chain_of_dependencies_runs_one_after_the_other() -> None:
    spec = jobset(
        replicated("a"),
        replicated("b", depends_on=[("a", "Complete")]),
        replicated("c", depends_on=[("a", "Complete"), ("b", "Complete")]),
    )
    world = World(spec)
    seen = []
    for name in ("a", "b", "c"):
        world.step()
        seen.append(world.running)
        world.end(name, 0)
    assert seen == [[("a", 0, 0)], [("b", 0, 0)], [("c", 0, 0)]]
    assert world.decide().status["terminalState"] == "Completed"
