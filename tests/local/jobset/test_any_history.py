"""Whatever pods do and whenever: decide() keeps its promises and comes to an end."""

import copy
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.local.jobset.worlds import World, at, ended, jobset, replicated
from trainer_infra.local.jobset.decide import Decision, decide
from trainer_infra.local.jobset.pods import PodPhase

CODES = st.sampled_from((0, 0, 0, 1, 42))
STEPS = 400


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    jobs: list[dict[str, Any]] = []
    in_order = draw(st.booleans())
    for position in range(draw(st.integers(1, 3))):
        earlier = st.sampled_from([job["name"] for job in jobs]) if jobs else st.none()
        on = None if in_order or draw(st.booleans()) else draw(earlier)
        limits = {
            "backoffLimit": draw(st.sampled_from((None, 0, 1, 3))),
            "backoffLimitPerIndex": draw(st.sampled_from((None, None, 1))),
            "activeDeadlineSeconds": draw(st.sampled_from((None, None, 20))),
            "parallelism": draw(st.integers(1, 3)),
            "restart_policy": draw(st.sampled_from(("Never", "OnFailure"))),
        }
        jobs.append(
            replicated(
                f"job{position}",
                draw(st.integers(1, 3)),
                replicas=draw(st.integers(1, 2)),
                depends_on=[(on, draw(st.sampled_from(("Ready", "Complete"))))] if on else None,
                **{key: value for key, value in limits.items() if value is not None},
            )
        )
    return jobset(
        *jobs,
        successPolicy={"operator": draw(st.sampled_from(("All", "Any")))},
        startupPolicy={"startupPolicyOrder": "InOrder" if in_order else "AnyOrder"},
        failurePolicy={
            "maxRestarts": draw(st.integers(0, 2)),
            "restartStrategy": draw(st.sampled_from(("Recreate", "BlockingRecreate"))),
        },
    )


@dataclass(frozen=True)
class Script:
    """What happens to a JobSet."""

    ends: tuple[tuple[int, int, float, bool], ...]
    """Over and over: which running pod ends, its exit code, the seconds that pass, and whether
    pods that are to stop do so before the next step."""
    suspends: frozenset[int]
    """In which steps it is suspended; it is resumed in the next one."""


SCRIPTS = st.builds(
    Script,
    ends=st.lists(
        st.tuples(st.integers(0, 99), CODES, st.sampled_from((0, 0.25, 1)), st.booleans()),
        min_size=1,
        max_size=20,
    ).map(tuple),
    suspends=st.frozensets(st.integers(0, 30), max_size=3),
)


@settings(max_examples=150)
@given(specs(), SCRIPTS)
def test_every_history_ends_and_keeps_the_promises(spec: dict[str, Any], script: Script) -> None:
    world = World(copy.deepcopy(spec))
    for step in range(STEPS):
        decision = world.step(stops=script.ends[step % len(script.ends)][-1])
        check(world, decision)
        if decision.state.ended and not world.running:
            break
        act(world, decision, script, step)
    assert world.state.ended
    assert {**world.spec, "suspend": False} == {**spec, "suspend": False}
    last = world.decide()
    assert (last.start, last.stop, last.wake_after) == ((), (), None)


def act(world: World, decision: Decision, script: Script, step: int) -> None:
    """Suspend, resume, end a pod, or let time pass until something is due."""
    place, code, pause, _ = script.ends[step % len(script.ends)]
    alive = [position for position, pod in enumerate(world.pods) if pod.phase is PodPhase.RUNNING]
    world.spec["suspend"] = step in script.suspends
    if alive:
        which = alive[place % len(alive)]
        world.pods[which] = ended(world.pods[which], code, world.seconds)
    else:
        world.seconds += decision.wake_after or 0
    world.seconds += pause


def check(world: World, decision: Decision) -> None:
    alive = Counter(pod.id for pod in world.pods if pod.phase is PodPhase.RUNNING)
    assert all(number == 1 for number in alive.values())
    names = {(pod.id, pod.attempt, pod.retry) for pod in world.pods}
    assert len(names) == len(world.pods)
    if decision.state.ended:
        assert decision.start == ()
        assert set(alive) <= set(decision.stop)
    for counted, job in zip(
        decision.status["replicatedJobsStatus"], world.spec["replicatedJobs"], strict=True
    ):
        finished = counted["succeeded"] + counted["failed"]
        assert finished + max(counted["ready"], counted["active"]) <= job["replicas"]
        assert finished + counted["suspended"] <= job["replicas"]
    types = [each["type"] for each in decision.status["conditions"]]
    assert len(types) == len(set(types))
    again = decide("tj", world.spec, tuple(world.pods), world.state, at(world.seconds))
    once_more = decide("tj", world.spec, tuple(world.pods), again.state, at(world.seconds))
    assert replace(once_more, state=again.state) == again
    started = {(pod.id, pod.attempt, pod.retry) for pod in world.pods}
    assert not started & {(each.id, each.attempt, each.retry) for each in again.start}
