"""A rank that hangs is named, with where it is; who saves, restores, evaluates or stood still is not."""

import os
import random
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.e2e.hanging_pods import AFTER, TRAINING, training, what_is_said
from tests.soak_sample import sampled
from trainer_infra.in_pod.checkpoints import hangs

ASLEEP = "it sleeps or is blocked, at hang_torch.py line"
COMPUTES = "it goes on computing, at hang_torch.py line"
HANGS = {
    "stops": "it is stopped",
    "loops": COMPUTES,
    "loops in C": COMPUTES,
    "counts": COMPUTES,
    "sleeps": ASLEEP,
    "reads": ASLEEP,
    "waits for a thread": ASLEEP,
    "leaves out a collective": "it waits for other ranks in ",
    "leaves the loop": "it left the loop of its steps and waits for other ranks in barrier, at hang_torch.py line",
}
SHAPES = {"one pod of two": (2,), "one pod of three": (3,), "two pods": (1, 1), "four": (2, 2)}
CASES = [f"{how} in {shape}" for how in HANGS for shape in SHAPES]


@pytest.mark.parametrize("case", sampled(CASES, every=18))
def test_the_rank_that_hangs_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    how, _, shape = case.rpartition(" in ")
    drawn = random.Random(case)
    rank = drawn.randrange(sum(SHAPES[shape]))
    step = drawn.randrange(1, 60)
    with training(tmp_path, *SHAPES[shape], HANG=f"{rank}:{how}@{step}") as pods:
        for pod in pods:
            pod.until(hangs.PREFIX)
        said = what_is_said(pods)
    name = next(each.name for each in pods if f'"rank": {rank},' in each.lines[-1])
    assert said.startswith(f"rank {rank} (pod {name}) made no step for "), said
    assert HANGS[how] in said
    if how != "leaves out a collective":
        assert f", since step {step}: " in said
    if how != "stops":
        assert any("hang_torch.py" in line and "File" in line for line in pods[0].lines)


def test_it_is_said_when_the_training_goes_on(tmp_path: Path) -> None:
    with training(tmp_path, 2, HANG="1:stops@20") as pods:
        (pod,) = pods
        pod.until(hangs.PREFIX)
        assert "it is stopped" in what_is_said(pods)
        pod.signal(signal.SIGCONT)
        pod.until("the training goes on")
        pod.until(hangs.PREFIX)
        assert what_is_said(pods) == ""
        pod.until("step ")


def test_asked_to_restart_the_pod_ends_and_the_next_one_goes_on(tmp_path: Path) -> None:
    arranged = {"on_hang": "restart", "every_steps": 10}
    words = tmp_path / "last-words"
    with training(
        tmp_path / "place",
        1,
        1,
        arranged=arranged,
        HANG="0:sleeps@27",
        TRAINER_INFRA_REPORT=str(words),
    ) as pods:
        assert [each.ended() for each in pods] == [137, 137]
        assert any("on_hang='restart'" in line for line in pods[0].lines)
        assert what_is_said(pods) == ""
        assert not [each for pod in pods for each in pod.processes()]
    assert words.read_text().startswith("it hung: rank ")
    with training(tmp_path / "place", 1, 1, arranged=arranged, STEPS="60") as pods:
        assert [each.ended() for each in pods] == [0, 0]
        # The save of step 20 may have gone on when it hung.
        assert pods[0].lines[0] in ("begins 10", "begins 20") or "begins 20" in pods[0].lines


HEALTHY = {
    "saves for long": {"SLOW": "saves"},
    "saves for long elsewhere": {"SLOW": "saves in the first"},
    "restores for long": {"SLOW": "restores"},
    "evaluates for long": {"SLOW": "evaluates"},
    "writes its last checkpoint for long": {"SLOW": "writes"},
}


FIFTY = [f"{how} {shape} {again}" for again in range(5) for how in HEALTHY for shape in (2, 1)]


@pytest.mark.parametrize("case", sampled(reversed(FIFTY), every=27))
def test_no_alarm_of_a_training_that(case: str, tmp_path: Path) -> None:
    how, shape, _ = case.rsplit(maxsplit=2)
    ranks = [int(shape)] * (2 // int(shape))
    env = {"LASTS": str(2.5 * AFTER), **HEALTHY[how]}
    for steps in ("60", "90") if how == "restores for long" else ("60",):
        with training(tmp_path, *ranks, arranged={"every_steps": 30}, STEPS=steps, **env) as pods:
            assert [each.ended() for each in pods] == [0] * len(pods)
            assert [each.alarms() for each in pods] == [[]] * len(pods)


def test_no_alarm_of_pods_that_stood_still(tmp_path: Path) -> None:
    """As a frozen container or a suspended machine: all of their processes, the first one too."""
    with training(tmp_path, 1, 1) as pods:
        for _ in range(2):
            for each in pods:
                each.until("step ")
            for each in pods:
                each.signal(signal.SIGSTOP)
            time.sleep(2 * AFTER)
            for each in reversed(pods):
                each.signal(signal.SIGCONT)
        for each in pods:
            at = int(each.until("step ").split()[1])
            each.until(f"step {at + 100}")
            assert each.alarms() == []


def test_told_to_end_it_ends_without_an_alarm(tmp_path: Path) -> None:
    with training(tmp_path, 2, SLOW="saves", LASTS=str(2 * AFTER)) as pods:
        (pod,) = pods
        pod.until("step 20")
        os.kill(pod.process.pid, signal.SIGTERM)
        for each in pod.processes():
            if each.cmdline()[1:] == [str(TRAINING)]:
                each.terminate()
        assert pod.ended() == 143
        assert pod.alarms() == []


def test_nothing_is_left_of_a_pod_that_has_ended(tmp_path: Path) -> None:
    with training(tmp_path, 1, STEPS="3") as pods:
        pods[0].until("begins")
        (folder,) = {
            value
            for each in pods[0].processes()
            for name, value in each.environ().items()
            if name == "TRAINER_INFRA_BEATS"
        }
        assert psutil.pid_exists(pods[0].process.pid)
        assert pods[0].ended() == 0
    assert not Path(folder).exists()


def test_without_hang_after_nobody_looks(tmp_path: Path) -> None:
    with training(tmp_path, 1, arranged={"hang_seconds": None}, STEPS="3") as pods:
        assert pods[0].ended() == 0
