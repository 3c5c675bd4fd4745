"""A program that is told to end saves, ends with 143, and goes on from there."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import sys, time
from trainer_infra.checkpoint import Checkpointer

checkpointer = Checkpointer()
state = checkpointer.restore({"step": 0, "sum": 0.0})
print("begins", state["step"], flush=True)
for step in range(state["step"], 40):
    state = {"step": step + 1, "sum": state["sum"] + step * 0.1}
    checkpointer.step(step + 1, state)
    print("done", step + 1, flush=True)
    time.sleep(float(sys.argv[1]))
print("ends", state["sum"], flush=True)
"""
UNDISTURBED = sum(step * 0.1 for step in range(40))


def start(folder: Path, pause: float = 0.0, **arranged: Any) -> "subprocess.Popen[str]":
    value = {"place": str(folder), "run": "vision/digits", "every_steps": 5, **arranged}
    environment = {**os.environ, "TRAINER_INFRA_CHECKPOINT": json.dumps(value)}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(pause)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def steps_of(folder: Path) -> list[int]:
    return sorted(int(each.parent.name[5:]) for each in folder.glob("step-*/whole.json"))


def test_it_saves_when_due_and_keeps_the_newest(tmp_path: Path) -> None:
    out, errors = start(tmp_path).communicate(timeout=60)
    assert out.splitlines()[-1] == f"ends {UNDISTURBED}"
    assert errors == ""
    assert steps_of(tmp_path) == [30, 35, 40]


def told_to_end_at(folder: Path, step: int, **arranged: Any) -> "subprocess.Popen[str]":
    process = start(folder, 0.05, **arranged)
    assert process.stdout is not None
    for line in process.stdout:
        if line == f"done {step}\n":
            process.send_signal(signal.SIGTERM)
            break
    return process


@pytest.mark.parametrize("step", [1, 7, 10, 39])
def test_told_to_end_it_saves_and_goes_on_from_there(tmp_path: Path, step: int) -> None:
    process = told_to_end_at(tmp_path, step)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "told to end after step" in errors) == (143, True)
    out, _ = start(tmp_path).communicate(timeout=60)
    first, *_, last = out.splitlines()
    assert int(first.split()[1]) >= step
    assert last == f"ends {UNDISTURBED}"


def test_told_twice_it_saves_once(tmp_path: Path) -> None:
    process = told_to_end_at(tmp_path, 3)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 143
    assert len(steps_of(tmp_path)) == 1


def test_without_a_save_it_ends_all_the_same(tmp_path: Path) -> None:
    process = told_to_end_at(tmp_path, 3, on_preemption=False)
    assert process.wait(timeout=60) == 143
    assert steps_of(tmp_path) == []


def killed_at(folder: Path, step: int) -> None:
    process = start(folder, 0.05)
    assert process.stdout is not None
    next(line for line in process.stdout if line == f"done {step}\n")
    process.kill()
    process.wait()


def test_killed_it_goes_on_from_the_last_one(tmp_path: Path) -> None:
    killed_at(tmp_path, 13)
    out, errors = start(tmp_path).communicate(timeout=60)
    assert out.splitlines()[0] == "begins 10"
    assert out.splitlines()[-1] == f"ends {UNDISTURBED}"
    assert f"goes on from step 10, from {tmp_path}" in errors


def test_a_damaged_one_is_passed_over_aloud(tmp_path: Path) -> None:
    killed_at(tmp_path, 13)
    (tmp_path / "step-0000000010" / "rank-00000.pickle").write_bytes(b"")
    out, errors = start(tmp_path).communicate(timeout=60)
    assert "the checkpoint of step 10 is damaged" in errors
    assert out.splitlines()[0] == "begins 5"
    assert out.splitlines()[-1] == f"ends {UNDISTURBED}"


def test_where_all_are_damaged_it_does_not_begin_anew_by_itself(tmp_path: Path) -> None:
    killed_at(tmp_path, 8)
    (tmp_path / "step-0000000005" / "rank-00000.pickle").unlink()
    process = start(tmp_path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"the only checkpoint in {tmp_path} is damaged; resume=False begins anew" in errors


@pytest.mark.parametrize(
    ("resume", "begins"), [("latest", "begins 40"), (False, "begins 0"), (35, "begins 35")]
)
def test_from_which_one_it_goes_on(tmp_path: Path, resume: Any, begins: str) -> None:
    start(tmp_path).communicate(timeout=60)
    out, _ = start(tmp_path, resume=resume).communicate(timeout=60)
    assert out.splitlines()[0] == begins


def test_from_another_runs(tmp_path: Path) -> None:
    start(tmp_path / "old").communicate(timeout=60)
    out, _ = start(tmp_path / "new", resume=str(tmp_path / "old")).communicate(timeout=60)
    assert out.splitlines()[0] == "begins 40"


def test_a_step_that_is_not_there(tmp_path: Path) -> None:
    start(tmp_path).communicate(timeout=60)
    _, errors = start(tmp_path, resume=12).communicate(timeout=60)
    wanted = f"{tmp_path} has no whole checkpoint of step 12 to resume from; it has 30, 35, 40"
    assert wanted in errors


def refusal(folder: Path, **arranged: Any) -> str:
    process = start(folder, **arranged)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    return errors.splitlines()[-1]


def test_a_place_that_cannot_be_written_is_found_before_the_first_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert f"checkpoints cannot be written to {tmp_path}/file/below" in refusal(tmp_path / "file" / "below")


def test_a_checkpoint_of_another_program(tmp_path: Path) -> None:
    start(tmp_path).communicate(timeout=60)
    other = PROGRAM.replace('"sum": 0.0}', '"total": 0.0}')
    environment = {**os.environ, "TRAINER_INFRA_CHECKPOINT": json.dumps({"place": str(tmp_path)})}
    found = subprocess.run(
        [sys.executable, "-c", other, "0"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "is of another model: total is not there; sum is there, and the program has none" in found.stderr


def test_without_an_arrangement_it_does_nothing(tmp_path: Path) -> None:
    environment: Mapping[str, str] = {
        key: value for key, value in os.environ.items() if key != "TRAINER_INFRA_CHECKPOINT"
    }
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "0.05"], env=environment, cwd=tmp_path, stdout=subprocess.PIPE
    )
    time.sleep(1)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
