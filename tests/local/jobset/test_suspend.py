from typing import Any

from tests.local.jobset.worlds import (
    World,
    condition,
    counts,
    jobset,
    replicated,
    start,
    status,
)
from trainer_infra.local.jobset.pods import PodId

SUSPENDED = ("Suspended", "SuspendedJobs", "jobset is suspended")
RESUMED = ("Suspended", "ResumeJobs", "jobset is resumed")


def suspend(world: World, value: bool) -> Any:
    world.spec["suspend"] = value
    return world.step()


def test_a_jobset_that_begins_suspended_starts_nothing() -> None:
    world = World(jobset(replicated("node", 2), suspend=True))
    decision = world.step()
    assert decision.start == ()
    assert decision.status == status(
        counts("node", suspended=1), conditions=[condition(*SUSPENDED, 0)]
    )


def test_it_starts_as_its_first_attempt_when_it_is_resumed() -> None:
    world = World(jobset(replicated("node"), suspend=True))
    world.step()
    world.seconds = 3
    decision = suspend(world, value=False)
    assert decision.start == (start("node", seconds=3),)
    assert decision.status == status(counts("node"), conditions=[condition(*RESUMED, 3, on=False)])


def test_suspending_stops_what_runs_and_resuming_runs_it_anew() -> None:
    world = World(jobset(replicated("node", 2)))
    world.step()
    world.seconds = 2
    assert suspend(world, value=True).stop == (PodId("node", 0, 0), PodId("node", 0, 1))
    assert world.step().status == status(
        counts("node", suspended=1), conditions=[condition(*SUSPENDED, 2)]
    )
    world.seconds = 5
    decision = suspend(world, value=False)
    assert decision.start == (
        start("node", 0, seconds=5, attempt=1),
        start("node", 1, seconds=5, attempt=1),
    )
    assert decision.status["restarts"] == 0


def test_a_resume_before_everything_has_stopped_waits_for_it() -> None:
    world = World(jobset(replicated("node")))
    world.step()
    world.spec["suspend"] = True
    world.decide()
    world.spec["suspend"] = False
    decision = world.decide()
    assert (decision.stop, decision.start) == ((PodId("node", 0, 0),), ())
    world.step()
    world.step()
    assert world.running == [("node", 0, 1)]


def test_what_had_succeeded_stays_so() -> None:
    spec = jobset(replicated("init"), replicated("node", 2, depends_on=[("init", "Complete")]))
    world = World(spec)
    world.step()
    world.end("init", 0)
    world.step()
    world.end("node", 0, index=0)
    decision = suspend(world, value=True)
    assert decision.status["replicatedJobsStatus"] == [
        counts("init", succeeded=1),
        counts("node", suspended=1),
    ]
    suspend(world, value=False)
    assert world.running == [("node", 1, 1)]
    world.end("node", 0, index=1)
    assert world.decide().status["terminalState"] == "Completed"


def test_a_job_that_was_never_created_is_not_suspended() -> None:
    node = replicated("node", depends_on=[("init", "Complete")])
    world = World(jobset(replicated("init"), node, suspend=True))
    assert world.step().status["replicatedJobsStatus"] == [
        counts("init", suspended=1),
        counts("node"),
    ]


def test_failures_before_a_suspend_stay_counted() -> None:
    world = World(jobset(replicated("node", backoffLimit=1)))
    world.step()
    world.end("node", 1)
    suspend(world, value=True)
    world.seconds = 9
    suspend(world, value=False)
    assert world.running == [("node", 0, 1)]
    world.end("node", 1)
    assert world.decide().status["terminalState"] == "Failed"


def test_in_place_retries_before_a_suspend_do_not_count() -> None:
    world = World(jobset(replicated("node", backoffLimit=2, restart_policy="OnFailure")))
    world.step()
    world.end("node", 1)
    suspend(world, value=True)
    world.seconds = 9
    suspend(world, value=False)
    world.end("node", 1)
    assert "terminalState" not in world.decide().status


def test_a_job_that_ran_is_suspended_though_its_dependency_is_no_longer_ready() -> None:
    world = World(jobset(replicated("init"), replicated("node", depends_on=[("init", "Ready")])))
    world.step()
    world.step()
    suspend(world, value=True)
    assert world.step().status["replicatedJobsStatus"] == [
        counts("init", suspended=1),
        counts("node", suspended=1),
    ]
    suspend(world, value=False)
    assert world.running == [("init", 0, 1)]


def test_the_deadline_stands_still_while_suspended_and_begins_again() -> None:
    world = World(jobset(replicated("node", activeDeadlineSeconds=10)))
    world.step()
    world.seconds = 8
    suspend(world, value=True)
    world.seconds = 50
    assert world.step().wake_after is None
    suspend(world, value=False)
    assert world.decide().wake_after == 10


def test_a_restart_after_a_resume_forgets_what_succeeded() -> None:
    world = World(jobset(replicated("node", 2), failurePolicy={"maxRestarts": 1}))
    world.step()
    world.end("node", 0, index=0)
    suspend(world, value=True)
    suspend(world, value=False)
    world.end("node", 1, index=1)
    world.step()
    assert world.running == [("node", 0, 2), ("node", 1, 2)]
    assert world.state.restarts == 1


def test_suspending_during_a_restart_ends_the_restarting_condition() -> None:
    world = World(jobset(replicated("node", 2), failurePolicy={"maxRestarts": 1}))
    world.step()
    world.end("node", 1)
    world.step()
    assert suspend(world, value=True).status["conditions"] == [
        condition("RestartingJobSet", "JobSetSuspended", "jobset is suspended", 0, on=False),
        condition(*SUSPENDED, 0),
    ]
