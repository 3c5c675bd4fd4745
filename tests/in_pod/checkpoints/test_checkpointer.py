"""A program that is told to end saves, ends with 143, and goes on from there."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.in_pod.checkpoints.programs import (
    PROGRAM,
    UNDISTURBED,
    file_of,
    killed_at,
    run,
    run_with,
    steps_of,
    told_at,
)


def test_it_saves_when_due_and_keeps_the_newest(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.code, done.last) == (0, UNDISTURBED)
    begun = f"there is no checkpoint of this run in {tmp_path}; the training begins anew"
    assert done.err == f"trainer_infra.checkpoint: {begun}\n"
    assert steps_of(tmp_path) == [30, 35, 40]


@pytest.mark.parametrize("step", [1, 7, 10, 39])
def test_told_to_end_it_saves_and_goes_on_from_there(tmp_path: Path, step: int) -> None:
    done = told_at(tmp_path, step)
    assert (done.code, done.begins) == (143, 0)
    assert f"told to end after step {step}" in done.err
    resumed = run(tmp_path)
    assert (resumed.begins, resumed.last) == (step, UNDISTURBED)


def test_told_to_end_ten_times_it_comes_to_the_same_end(tmp_path: Path) -> None:
    begun = [told_at(tmp_path, step).begins for step in range(3, 33, 3)]
    assert begun == [0, *range(3, 30, 3)]
    assert run(tmp_path).last == UNDISTURBED


def test_told_twice_it_saves_once(tmp_path: Path) -> None:
    assert told_at(tmp_path, 3, times=2).code == 143
    assert steps_of(tmp_path) == [3]


def test_without_a_save_it_ends_all_the_same(tmp_path: Path) -> None:
    assert told_at(tmp_path, 3, on_preemption=False).code == 143
    assert steps_of(tmp_path) == []


def test_told_while_it_restores_it_ends_before_the_first_step(tmp_path: Path) -> None:
    told = PROGRAM.replace(
        "state = checkpointer.restore",
        "os.kill(os.getpid(), signal.SIGTERM); state = checkpointer.restore",
    )
    done = run(tmp_path, program=told)
    assert (done.code, done.out) == (143, "")
    assert steps_of(tmp_path) == []


def test_told_before_an_evaluation_it_saves_in_that(tmp_path: Path) -> None:
    evaluating = PROGRAM.replace(
        "    if step + 1 == killed:",
        "    if step + 1 == 7:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        for batch in range(3):\n"
        "            print('evaluates', batch)\n"
        "            checkpointer.step(step + 1, state)\n"
        "    if step + 1 == killed:",
    )
    done = run(tmp_path, program=evaluating)
    assert (done.code, done.last) == (143, "evaluates 0")
    assert steps_of(tmp_path) == [5, 7]


def test_a_forked_process_ends_as_it_would_without_a_checkpointer(tmp_path: Path) -> None:
    """As loaders of data are ended: their parent waits for them."""
    forking = (
        "import multiprocessing, time\n"
        "from trainer_infra.checkpoint import Checkpointer\n"
        "Checkpointer()\n"
        "child = multiprocessing.get_context('fork').Process(target=time.sleep, args=(100,))\n"
        "child.start()\n"
        "child.terminate()\n"
        "child.join()\n"
        "print(child.exitcode)\n"
    )
    assert run(tmp_path, program=forking).out == f"{-signal.SIGTERM}\n"


def test_a_handler_that_took_the_signal_meanwhile_hands_it_back(tmp_path: Path) -> None:
    taking = PROGRAM.replace("print(", "signal.signal(signal.SIGTERM, print); print(", 1)
    assert run(tmp_path, 7, 1, 0, program=taking).code == 143


def test_made_in_another_thread_it_says_that_nothing_is_saved_at_the_end(tmp_path: Path) -> None:
    threaded = (
        "import threading\n" + f"thread = threading.Thread(target=exec, args=({PROGRAM!r}, {{}}))\n"
    )
    done = run(tmp_path, program=threaded + "thread.start()\nthread.join()")
    assert "it was not made in the main thread" in done.err
    assert done.last == UNDISTURBED


def test_killed_it_goes_on_from_the_last_one(tmp_path: Path) -> None:
    assert killed_at(tmp_path, 13).code == -signal.SIGKILL
    done = run(tmp_path)
    assert (done.begins, done.last) == (10, UNDISTURBED)
    assert f"goes on from step 10, from {tmp_path}" in done.err


@pytest.mark.parametrize("damage", ["rank-00000.pickle", "rank-00000.json", "../whole.json"])
def test_a_damaged_one_is_passed_over_aloud(tmp_path: Path, damage: str) -> None:
    killed_at(tmp_path, 13)
    (file_of(tmp_path, 10).parent / damage).write_bytes(b"")
    done = run(tmp_path)
    assert "the checkpoint of step 10 is damaged" in done.err
    assert (done.begins, done.last) == (5, UNDISTURBED)


def test_where_all_are_damaged_it_does_not_begin_anew_by_itself(tmp_path: Path) -> None:
    killed_at(tmp_path, 8)
    file_of(tmp_path, 5).unlink()
    done = run(tmp_path)
    assert done.code == 1
    assert f"the only checkpoint in {tmp_path} is damaged; resume=False begins anew" in done.error


@pytest.mark.parametrize(("resume", "begins"), [("latest", 40), (False, 0), (35, 35)])
def test_with_which_one_another_run_begins(tmp_path: Path, resume: Any, begins: int) -> None:
    run(tmp_path)
    assert run(tmp_path, resume=resume, run="vision/letters").begins == begins


@pytest.mark.parametrize("resume", [False, 35])
def test_a_run_that_has_begun_goes_on_from_its_own_one(tmp_path: Path, resume: Any) -> None:
    run(tmp_path, run="vision/old")
    end = 3 if resume is False else 38
    told_at(tmp_path, end, resume=resume)
    done = run(tmp_path, resume=resume)
    assert (done.begins, done.last) == (end, UNDISTURBED)


def test_from_another_place_and_then_from_its_own(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    told_at(old, 20)
    told_at(new, 23, resume=str(old), run="vision/new")
    done = run(new, resume=str(old), run="vision/new")
    assert (done.begins, done.last) == (23, UNDISTURBED)


def test_a_step_that_is_not_there(tmp_path: Path) -> None:
    run(tmp_path)
    done = run(tmp_path, resume=12, run="vision/letters")
    wanted = f"{tmp_path} has no whole checkpoint of step 12 to resume from; it has 30, 35, 40"
    assert wanted in done.error


def test_a_place_that_cannot_be_written_is_found_before_the_first_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file" / "below")
    assert (done.code, done.out) == (1, "")
    assert f"checkpoints cannot be written to {tmp_path}/file/below" in done.error


def test_a_checkpoint_of_another_program(tmp_path: Path) -> None:
    run(tmp_path)
    done = run(tmp_path, program=PROGRAM.replace('"sum": 0.0}', '"total": 0.0}'))
    assert (
        "is of another model: total is not there; sum is there, and the program has none"
        in done.error
    )
    assert done.error.endswith("Give this run another uri, or resume=False")


def test_a_value_that_cannot_be_pickled_is_found_before_the_first_step(tmp_path: Path) -> None:
    done = run(
        tmp_path, program=PROGRAM.replace('"sum": 0.0}', '"sum": 0.0, "lock": threading.Lock()}')
    )
    assert (done.code, done.out) == (1, "")
    assert "state['lock'], a lock, cannot be saved: " in done.error


def test_random_numbers_go_on_where_they_were(tmp_path: Path) -> None:
    drawing = PROGRAM.replace("import os,", "import random, os,").replace(
        "step * 0.1", "random.random()"
    )
    drawing = drawing.replace("told, times", "random.seed(1)\ntold, times")
    whole = run(tmp_path / "whole", program=drawing).last
    run(tmp_path / "cut", 7, 1, 0, program=drawing)
    assert run(tmp_path / "cut", program=drawing).last == whole


def test_nodes_that_know_nothing_of_each_other_have_their_own(tmp_path: Path) -> None:
    value = json.dumps({"place": str(tmp_path), "run": "vision/digits", "every_steps": 5})
    for node in ("0", "1"):
        variables = {"TRAINER_INFRA_CHECKPOINT": value, "JOB_COMPLETION_INDEX": node}
        assert run_with(variables).code == 0
    assert steps_of(tmp_path) == steps_of(tmp_path / "node-1") == [30, 35, 40]


def test_processes_that_have_not_found_one_another_are_refused(tmp_path: Path) -> None:
    value = json.dumps({"place": str(tmp_path)})
    done = run_with({"TRAINER_INFRA_CHECKPOINT": value, "WORLD_SIZE": "4"})
    assert (
        "this is one of 4 processes (WORLD_SIZE), and they have not found one another" in done.error
    )


def test_without_an_arrangement_it_does_nothing() -> None:
    done = run_with({}, 7, 1, 0)
    assert (done.code, done.err) == (-signal.SIGTERM, "")
