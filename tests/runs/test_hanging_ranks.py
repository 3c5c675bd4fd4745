"""Which rank of a run is said to hang, from the lines of its pods."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from trainer_infra.in_pod.checkpoints import hangs
from trainer_infra.in_pod.checkpoints.hangs import SilentRank
from trainer_infra.runs import reports, view
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.hangs import hanging_ranks
from trainer_infra.runs.run import Owner, Run
from trainer_infra.runs.view import Observation

RUN: Final = Run("default", "tj", "1", "here", Owner(), "", "2026-11-01T00:00:00Z", "Created")
NOW: Final = datetime(2026, 11, 1, 1, tzinfo=UTC)
JOBSET: Final = {
    "metadata": {"name": "tj", "creationTimestamp": RUN.created},
    "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {}}}]},
    "status": {"replicatedJobsStatus": [{"name": "node", "active": 2}]},
}


def rank(number: int, at: str = "train.py line 9 in work", **more: Any) -> SilentRank:
    found = {"step": 41, "seconds": 600.0, "state": hangs.WAITS, "collective": "all_reduce"}
    return SilentRank(number, at=at, **{**found, **more})


OTHERS: Final = [rank(0), rank(2), rank(3)]
CULPRITS: Final = {
    "is stopped": {"state": hangs.STOPPED, "collective": "", "at": ""},
    "is gone": {"state": hangs.GONE, "collective": "", "at": ""},
    "has ended its program": {"state": hangs.FINISHED, "collective": "", "at": ""},
    "goes on computing, at a.py line 1 in b": {"state": hangs.RUNS, "collective": ""},
    "sleeps or is blocked, at a.py line 1 in b": {"collective": ""},
    "left the loop of its steps and waits for other ranks in barrier, at a.py line 1 in b": {
        "collective": "barrier",
        "has_left": True,
    },
    "waits for other ranks in step, at a.py line 1 in b": {"collective": "step", "step": 42},
}


@pytest.mark.parametrize("others", [1, 2, 3])
@pytest.mark.parametrize(("doing", "more"), CULPRITS.items(), ids=list(CULPRITS))
def test_one_rank_is_named_among_others_that_wait(
    doing: str, more: dict[str, Any], others: int
) -> None:
    ranks = [*OTHERS[:others], rank(1, **{"at": "a.py line 1 in b", **more})]
    step = more.get("step", 41)
    said = hangs.sentence(ranks, "10m")
    assert said == f"rank 1 made no step for 10m, since step {step}: it {doing}"


def test_of_ranks_that_wait_at_one_place_the_one_a_step_ahead_left_a_collective_out() -> None:
    found = hangs.to_blame([rank(0), rank(1, step=42), rank(2)])
    assert [each.rank for each in found] == [1]


def test_where_nothing_tells_all_are_named() -> None:
    said = hangs.sentence([rank(0), rank(1)], "10m")
    assert said.startswith("all 2 ranks made no step for 10m, since step 41: rank 0 waits for")
    assert hangs.sentence([rank(0)], "10m").startswith("rank 0 made no step for 10m")


def line(*ranks: SilentRank) -> str:
    return f"{hangs.PREFIX}{json.dumps([asdict(each) for each in ranks])}"


def pod(name: str, **more: Any) -> dict[str, Any]:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], **more}
    return {"metadata": {"name": name, "labels": {}}, "spec": {}, "status": status}


PODS: Final = (pod("tj-node-0-0"), pod("tj-node-0-1"))
LINES: Final = {
    "tj-node-0-0": ("step 41", line(rank(0)), "another thread prints"),
    "tj-node-0-1": (line(rank(1, collective="", state=hangs.RUNS)),),
}
SAID: Final = "rank 1 (pod tj-node-0-1) made no step for 10m, since step 41: it goes on computing, at train.py line 9 in work"


@pytest.mark.parametrize("around", [None, Surroundings()])
def test_a_run_is_stuck_with_the_rank_of_one_pod_among_all(around: Surroundings | None) -> None:
    seen = Observation(JOBSET, pods=PODS, lines=LINES, surroundings=around)
    run = view.current_run(RUN, seen, NOW)
    assert (run.waiting_for, run.cause, run.stuck) == (SAID, "hang", SAID)


@pytest.mark.parametrize(
    "after",
    [
        line(),
        f"{hangs.PREFIX}[{{}}]",
        f"{hangs.PREFIX}{{}}",
        f"{hangs.PREFIX}[",
        f'{hangs.PREFIX}[{{"rank": []}}]',
        f"{hangs.PREFIX}7",
    ],
)
def test_a_training_that_goes_on_does_not_hang_nor_what_a_program_prints(after: str) -> None:
    lines = {name: (*each, after) for name, each in LINES.items()}
    assert [*hanging_ranks(PODS, lines)] == []


def test_pods_that_have_ended_or_are_being_deleted_do_not_hang() -> None:
    deleted = pod("tj-node-0-1")
    deleted["metadata"]["deletionTimestamp"] = RUN.created
    assert [*hanging_ranks([pod("tj-node-0-0", phase="Failed"), deleted], LINES)] == []


def test_a_later_release_may_say_more() -> None:
    said = {**asdict(rank(1)), "more": 1}
    lines = {"tj-node-0-1": (f"{hangs.PREFIX}{json.dumps([said])}",)}
    assert len([*hanging_ranks(PODS, lines)]) == 1


def test_people_read_the_stacks_and_not_the_line() -> None:
    assert reports.without_reports(["rank 1, process 7:", line(rank(1))]) == ["rank 1, process 7:"]


DUMP: Final = """Thread 0x00000000000000aa (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 1 in wait
  File "/usr/lib/python3.11/threading.py", line 2 in run
Current thread 0x00000000000000bb (most recent call first):
  File "/work/torch/distributed/distributed_c10d.py", line 4181 in all_reduce
  File "/work/torch/distributed/c10d_logger.py", line 83 in wrapper
  File "/home/me/train.py", line 12 in work
  File "/home/me/train.py", line 30 in <module>
"""


def test_the_stack_of_the_thread_that_trains_says_where_it_is() -> None:
    frames = hangs.frames_of(DUMP, 0xBB)
    assert hangs.place_of(frames) == "train.py line 12 in work"
    assert hangs.collective_of(frames, "") == "all_reduce"
    assert hangs.frames_of(DUMP, 0xCC) == frames
    assert hangs.collective_of(hangs.frames_of(DUMP, 0xAA), "lock.wait()") == ""
    assert hangs.collective_of(frames[2:], "handle.wait()") == "wait"
    assert hangs.collective_of(frames[2:], "time.sleep(9)") == ""
    assert (hangs.place_of([]), hangs.collective_of([], "")) == ("", "")


SOURCE: Final = """for epoch in range(2):
    for batch in data:
        checkpointer.step(1, state)
    evaluate()
finish()
"""


@pytest.mark.parametrize(("line_now", "left"), [(2, False), (3, False), (4, True), (5, True)])
def test_who_is_behind_the_loop_of_its_steps_has_left_it(line_now: int, left: bool) -> None:
    frames = [hangs.Frame("t.py", line_now, "<module>")]
    assert hangs.has_left(frames, "t.py", 3, SOURCE) is left
    assert hangs.has_left([], "t.py", 3, SOURCE) is False
    assert hangs.has_left(frames, "t.py", 1, "step()") is False
