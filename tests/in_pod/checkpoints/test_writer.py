"""Two runs in one place."""

import json
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from trainer_infra.in_pod.checkpoints.shelf import Shelf
from trainer_infra.in_pod.checkpoints.writer import FILE, SILENT, SharedError, Writer


def writer_at(folder: Path, run: str) -> Writer:
    return Writer(Shelf(str(folder)), run)


def test_a_later_run_takes_over_and_the_earlier_one_does_not_take_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, later = (writer_at(tmp_path, f"vision/{name}") for name in ("digits", "letters"))
    first.begin()
    later.begin()
    assert "run vision/digits wrote its checkpoints to" in capsys.readouterr().err
    said = r"run vision/letters has begun to write .* Give each run its own uri"
    with pytest.raises(SharedError, match=said):
        first.check()
    with pytest.raises(SharedError, match=said):
        writer_at(tmp_path, "vision/digits").begin()
    # Nor after a restart of the later one.
    again = writer_at(tmp_path, "vision/letters")
    again.begin()
    with pytest.raises(SharedError, match=said):
        writer_at(tmp_path, "vision/digits").begin()
    again.sign_again(has_ended=True)
    writer_at(tmp_path, "vision/digits").begin()


def test_a_run_that_was_displaced_begins_where_the_later_one_was_killed_long_ago(
    tmp_path: Path,
) -> None:
    for age, may_begin in ((SILENT - 60, False), (SILENT + 1, True)):
        entry = {"run": "vision/letters", "number": 1, "at": time.time() - age}
        (tmp_path / FILE).write_text(json.dumps({**entry, "displaced": ["vision/digits"]}))
        earlier = writer_at(tmp_path, "vision/digits")
        with nullcontext() if may_begin else pytest.raises(SharedError):
            earlier.begin()


def test_a_later_attempt_takes_over_and_the_earlier_one_ends(tmp_path: Path) -> None:
    first, second = (writer_at(tmp_path, "vision/digits") for _ in range(2))
    first.begin()
    second.begin()
    second.check()
    with pytest.raises(SharedError, match="another attempt of this run has begun"):
        first.check()
    # It does not take the place back.
    first.sign_again()
    second.check()


def test_a_process_of_another_node_sees_whether_it_writes_to_the_same_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainer_infra.in_pod.checkpoints.writer.VISIBLE", 0.1)
    number = writer_at(tmp_path / "shared", "vision/digits").begin()
    assert writer_at(tmp_path / "shared", "vision/digits").unseen(number, 1) == ""
    said = writer_at(tmp_path / "of-one-node", "vision/digits").unseen(number, 1)
    assert "is not the same place for all processes; mount one volume on all nodes" in said


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"run": "x", "number": 1, "at": 0, "new": 1}']
)
def test_what_is_no_entry_keeps_nobody_out(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    writer_at(tmp_path, "vision/digits").begin()
