"""A run that is stuck fails its gate soon, but not because an API server was away."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from trainer_infra.deploy.operations.gate import Stuck
from trainer_infra.runs.run import RUNNING, Owner, Run
from trainer_infra.runs.waiting_cause import Cause

LOST = "pod tj-node-0-0 is on node a, which does not answer"


@dataclass
class Looks:
    """A gate's looks at one run."""

    seconds: float = 100.0
    age: float = 0.0
    """Of the run, when the gate begins."""
    stuck: Stuck = field(init=False)

    def __post_init__(self) -> None:
        self.stuck = Stuck(lambda: self.seconds)

    def after(self, seconds: float, said: str = "") -> bool:
        """Whether a look after so many seconds fails the gate."""
        self.seconds += seconds
        cause = str(Cause.NODE_LOST) if said else ""
        return LOST in self.stuck.trouble(replace(run(self.age), cause=cause, stuck=said))


def run(age: float) -> Run:
    made = datetime.now(UTC) - timedelta(seconds=age)
    return Run(
        namespace="n",
        name="tj",
        uid="u",
        host="h",
        owner=Owner(),
        content="",
        created=made.isoformat(),
        phase=RUNNING,
    )


def test_a_run_that_is_stuck_for_three_seconds_fails() -> None:
    looks = Looks()
    assert [looks.after(1, LOST) for _ in range(5)] == [False, False, False, True, True]


@pytest.mark.parametrize(("age", "limit"), [(13.5, 14), (3600, 120)])
def test_what_was_stuck_before_the_gate_began_has_its_next_try(age: float, limit: int) -> None:
    looks = Looks(age=age)
    assert not any(looks.after(1, LOST) for _ in range(limit))
    assert looks.after(1, LOST)


def test_what_is_stuck_after_the_gate_began_has_had_its_try() -> None:
    looks = Looks(age=3600)
    assert [looks.after(1, said) for said in ("", LOST, LOST, LOST, LOST)] == [False] * 4 + [True]


def test_who_is_not_stuck_any_more_begins_anew() -> None:
    looks = Looks()
    assert not any(looks.after(1, said) for said in (LOST, LOST, LOST, "", LOST, LOST, LOST))


def test_after_a_pause_nodes_have_time_to_report() -> None:
    looks = Looks()
    looks.after(1)
    assert not looks.after(30, LOST)
    assert not any(looks.after(1, LOST) for _ in range(19))
    assert looks.after(1, LOST)


def test_who_was_stuck_before_the_pause_has_had_that_time() -> None:
    looks = Looks()
    looks.after(1, LOST)
    assert looks.after(30, LOST)


def test_looks_that_always_take_long_hide_nothing_for_ever() -> None:
    looks = Looks()
    looks.after(8)
    assert [looks.after(8, LOST) for _ in range(5)] == [False, False, False, True, True]
