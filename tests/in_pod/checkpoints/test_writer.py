"""Two runs in one place."""

import json
import time
from pathlib import Path

import pytest

from trainer_infra.in_pod.checkpoints.shelf import Shelf
from trainer_infra.in_pod.checkpoints.writer import FILE, SILENT, SharedError, Writer


def writer_at(folder: Path, run: str) -> Writer:
    return Writer(Shelf(str(folder)), run)


def test_another_run_does_not_begin_where_one_writes(tmp_path: Path) -> None:
    writer_at(tmp_path, "vision/digits").begin()
    with pytest.raises(
        SharedError, match=r"run vision/digits writes its checkpoints to .* give each run"
    ):
        writer_at(tmp_path, "vision/letters").begin()


def test_another_run_goes_on_where_one_has_ended(tmp_path: Path) -> None:
    first = writer_at(tmp_path, "vision/digits")
    first.begin()
    first.sign_again(has_ended=True)
    writer_at(tmp_path, "vision/letters").begin()


@pytest.mark.parametrize(("age", "may_begin"), [(SILENT - 60, False), (SILENT + 1, True)])
def test_another_run_goes_on_where_one_was_killed_long_ago(
    tmp_path: Path, age: float, may_begin: bool
) -> None:
    entry = {"run": "vision/digits", "number": 1, "at": time.time() - age}
    (tmp_path / FILE).write_text(json.dumps(entry))
    later = writer_at(tmp_path, "vision/letters")
    if may_begin:
        later.begin()
    else:
        with pytest.raises(
            SharedError, match=r"If that run was killed, this one can begin in [56][0-9] s"
        ):
            later.begin()


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
