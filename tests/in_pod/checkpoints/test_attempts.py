"""What a run remembers of its attempts, however they end."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.in_pod.checkpoints.programs import (
    PROGRAM,
    UNDISTURBED,
    Ended,
    killed_at,
    run,
    run_with,
    told_at,
)
from trainer_infra.in_pod.checkpoints.attempts import FILE, KEPT
from trainer_infra.runs.attempts import Attempts, attempts_of

FAILING = PROGRAM.replace(
    "    if step + 1 == killed:",
    "    if step + 1 == killed:\n        raise FileNotFoundError('x')\n    if 0:",
)
SLOW = PROGRAM.replace("import os,", "import time, os,").replace(
    "    checkpointer.step", "    time.sleep(0.1)\n    checkpointer.step"
)
"""A step takes long enough for a write at each second to tell how far it came."""


def reported(
    place: Path, *arguments: int, program: str = PROGRAM, **arranged: Any
) -> tuple[Ended, Attempts]:
    """How an attempt ended, and what it had reported last, as its pod's last words."""
    value = {"place": str(place), "run": "vision/digits", "every_steps": 5, **arranged}
    file = place.parent / "last-words"
    variables = {"TRAINER_INFRA_CHECKPOINT": json.dumps(value), "TRAINER_INFRA_REPORT": str(file)}
    file.write_text("{}")
    done = run_with(variables, *arguments, program=program)
    return done, attempts_of(json.loads(file.read_text()))


def brief(found: Attempts) -> list[tuple[int, int, int, str]]:
    """First and last step, lost ones, and how it ended, of each."""
    return [(each.first, each.last, each.lost, each.how) for each in found.last]


def known(place: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((place / FILE).read_text())
    return content


def test_a_first_attempt_is_remembered_and_not_reported(tmp_path: Path) -> None:
    done, found = reported(tmp_path / "place")
    assert (done.code, found) == (0, Attempts())
    (entry,) = known(tmp_path / "place")["entries"]
    assert (entry["first"], entry["last"], entry["how"]) == (0, 40, "ended")


def test_told_killed_failed_and_finished(tmp_path: Path) -> None:
    place = tmp_path / "place"
    told_at(place, 7)
    killed_at(place, 13)
    assert run(place, 0, 0, 19, program=FAILING).code == 1
    done, found = reported(place)
    assert UNDISTURBED in done.out
    told, killed, failed, finished = found.last
    assert (told.first, told.last, told.lost, told.how) == (0, 7, 0, "told to end")
    # The write at the save of step 12 is its last, and may be made while step 13 is.
    assert (killed.first, killed.last in {12, 13}, killed.how) == (7, True, "")
    assert (failed.first, failed.last, failed.how) == (12, 19, "FileNotFoundError")
    assert (finished.first, finished.last, finished.how) == (17, 40, "ended")
    assert [killed.lost, failed.lost] == [killed.last - 12, 2]
    assert (found.total, found.lost_steps) == (4, killed.lost + 2)
    assert [each.number for each in found.last] == [1, 2, 3, 4]
    begun = [each.began for each in found.last]
    assert begun == sorted(begun)
    assert 0 < found.effective_percent < 100


def test_killed_between_saves_it_knows_the_last_second(tmp_path: Path) -> None:
    place = tmp_path / "place"
    run(place, 0, 0, 25, program=SLOW, every_steps=20)
    _, found = reported(place, every_steps=20)
    first = found.last[0]
    assert 20 <= first.last <= 25
    assert (first.lost, found.lost_steps) == (first.last - 20, first.last - 20)


def test_a_run_that_reports_has_its_own_metrics_first(tmp_path: Path) -> None:
    place = tmp_path / "place"
    told_at(place, 7)
    reporting = PROGRAM.replace(
        "from trainer_infra.checkpoint",
        "from trainer_infra.report import report\nfrom trainer_infra.checkpoint",
    ).replace("    checkpointer.step", "    report(step, 9, loss=0.5)\n    checkpointer.step")
    _, found = reported(place, program=reporting)
    said = json.loads((tmp_path / "last-words").read_text())
    assert (said["progressPercentage"], said["estimatedRemainingSeconds"]) == (39, 9)
    assert said["metrics"][0] == {"name": "loss", "value": "0.5"}
    assert brief(found)[-1] == (7, 40, 0, "ended")


def test_of_many_attempts_the_last_ones_and_the_sums(tmp_path: Path) -> None:
    place = tmp_path / "place"
    for step in range(1, 31):
        told_at(place, step)
    _, found = reported(place)
    assert (found.total, found.lost_steps, len(found.last)) == (31, 0, KEPT)
    assert [each.number for each in found.last] == list(range(32 - KEPT, 32))
    assert len((tmp_path / "last-words").read_bytes()) < 1536


def test_a_checkpoint_that_is_damaged_loses_the_steps_of_several_attempts(tmp_path: Path) -> None:
    place = tmp_path / "place"
    told_at(place, 12)
    told_at(place, 14)
    for step in (12, 14):
        (place / f"step-{step:010}" / "whole.json").write_text("")
    _, found = reported(place)
    assert brief(found)[:2] == [(0, 12, 0, "told to end"), (12, 14, 4, "told to end")]
    assert (found.last[-1].first, found.lost_steps) == (10, 4)


def test_another_run_begins_its_own_list_also_from_checkpoints_of_the_first(tmp_path: Path) -> None:
    place = tmp_path / "place"
    told_at(place, 7)
    told_at(place, 23, run="vision/letters")
    assert [each["first"] for each in known(place)["entries"]] == [7]
    _, found = reported(place, run="vision/letters")
    assert brief(found) == [(7, 23, 0, "told to end"), (23, 40, 0, "ended")]


DAMAGED = (
    "",
    "{",
    "[]",
    "{}",
    '{"run": "vision/digits", "begin": 1, "entries": [{"number": 1}]}',
    '{"run": "vision/digits", "begin": 1, "lost": "x", "entries": []}',
    '{"run": "vision/digits", "begin": 1, "entries": null}',
    json.dumps(
        {
            "run": "vision/digits",
            "begin": 1,
            "entries": [
                dict.fromkeys(("begin", "trains", "at"), 1e300)
                | dict.fromkeys(("number", "first", "last"), 1)
            ],
        }
    ),
    '{"run": "vision/digits", "begin": 1, "entries": [], "of_a_later_release": 1}',
)


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_memory_is_lost_in_one_line_and_no_training(tmp_path: Path, content: str) -> None:
    place = tmp_path / "place"
    told_at(place, 7)
    (place / FILE).write_text(content)
    done = run(place)
    assert (done.begins, done.last) == (7, UNDISTURBED)
    said = [line for line in done.err.splitlines() if FILE in line]
    assert len(said) == 1
    assert (
        "what this run remembers of its attempts begins anew: attempts.json cannot be read"
        in said[0]
    )
    (entry,) = known(place)["entries"]
    assert (entry["number"], entry["last"]) == (1, 40)


def test_a_place_that_cannot_be_written_at_the_end_fails_no_training(tmp_path: Path) -> None:
    place = tmp_path / "place"
    told_at(place, 7)
    gone = PROGRAM.replace(
        'print("ends"',
        f"import shutil; shutil.rmtree({str(place)!r}); open({str(place)!r}, 'w'); print(\"ends\"",
    )
    done, found = reported(place, program=gone, every_steps=None)
    assert (done.code, UNDISTURBED in done.out, "Traceback" in done.err) == (0, True, False)
    # What it reports does not depend on the place.
    assert brief(found)[-1] == (7, 40, 0, "ended")


def test_an_attempt_that_was_displaced_writes_no_more(tmp_path: Path) -> None:
    """As when a node that was lost comes back, and its pod goes on for a while."""
    place = tmp_path / "place"
    other = f"import json, subprocess, sys; from tests.in_pod.checkpoints.programs import killed_at; killed_at({str(place)!r}, 20)"
    displaced = PROGRAM.replace(
        "    if step + 1 == killed:",
        f"    if step + 1 == 12:\n        import subprocess\n        subprocess.run([sys.executable, '-c', {other!r}], check=True)\n    if 0:",
    )
    assert "another attempt of this run has begun" in run(place, program=displaced).error
    entries = known(place)["entries"]
    assert [(each["number"], each["how"]) for each in entries] == [(1, ""), (2, "")]


def test_a_forked_process_that_ends_does_not_end_the_attempt(tmp_path: Path) -> None:
    forking = PROGRAM.replace(
        "for step in range", "if not os.fork(): sys.exit()\nos.wait()\nfor step in range", 1
    )
    run(tmp_path, 0, 0, 13, program=forking)
    assert [each["how"] for each in known(tmp_path)["entries"]] == [""]
