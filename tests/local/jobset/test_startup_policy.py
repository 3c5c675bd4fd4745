from tests.local.jobset.worlds import World, condition, jobset, replicated

SPEC = jobset(
    replicated("driver"),
    replicated("node", 2),
    startupPolicy={"startupPolicyOrder": "InOrder"},
)
IN_PROGRESS = ("InOrderStartupPolicyInProgress", "in order startup policy is in progress")
COMPLETED = ("InOrderStartupPolicyCompleted", "in order startup policy has completed")


def test_in_order_each_replicated_job_waits_until_the_one_before_is_ready() -> None:
    world = World(SPEC)
    first = world.step()
    assert world.running == [("driver", 0, 0)]
    assert first.status["conditions"] == [condition("StartupPolicyInProgress", *IN_PROGRESS, 0)]
    world.seconds = 5
    world.step()
    assert world.running == [("driver", 0, 0), ("node", 0, 0), ("node", 1, 0)]


def test_when_all_are_ready_the_startup_is_completed() -> None:
    world = World(SPEC)
    world.step()
    world.step()
    world.seconds = 7
    assert world.step().status["conditions"] == [
        condition("StartupPolicyInProgress", *IN_PROGRESS, 0, on=False),
        condition("StartupPolicyCompleted", *COMPLETED, 7),
    ]


def test_a_job_that_ended_early_lets_the_next_one_start() -> None:
    world = World(SPEC)
    world.step()
    world.end("driver", 0)
    world.step()
    assert world.running == [("node", 0, 0), ("node", 1, 0)]


def test_any_order_starts_all_at_once_and_sets_no_condition() -> None:
    world = World({**SPEC, "startupPolicy": {"startupPolicyOrder": "AnyOrder"}})
    decision = world.step()
    assert len(world.running) == 3
    assert decision.status["conditions"] == []
