"""A run that is stuck fails its gate soon, but not because an API server was away."""

from dataclasses import dataclass, field, replace

from trainer_infra.deploy.gate import Stuck
from trainer_infra.lifecycle.run import RUNNING, Owner, Run
from trainer_infra.lifecycle.waiting_cause import Cause

LOST = "pod tj-node-0-0 is on node a, which does not answer"


@dataclass
class Looks:
    """A gate's looks at one run."""

    seconds: float = 100.0
    stuck: Stuck = field(init=False)

    def __post_init__(self) -> None:
        self.stuck = Stuck(lambda: self.seconds)

    def after(self, seconds: float, said: str = "") -> bool:
        """Whether a look after so many seconds fails the gate."""
        self.seconds += seconds
        cause = str(Cause.NODE_LOST) if said else ""
        return LOST in self.stuck.trouble(replace(run(), cause=cause, stuck=said))


def run() -> Run:
    return Run(
        namespace="n",
        name="tj",
        uid="u",
        host="h",
        owner=Owner(),
        content="",
        created="",
        phase=RUNNING,
    )


def test_a_run_that_is_stuck_for_three_seconds_fails() -> None:
    looks = Looks()
    assert [looks.after(1, LOST) for _ in range(5)] == [False, False, False, True, True]


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
