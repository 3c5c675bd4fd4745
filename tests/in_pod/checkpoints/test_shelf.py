"""Which checkpoints are whole, and which may go."""

from pathlib import Path

import pytest

from trainer_infra.in_pod.checkpoints.one_checkpoint import StoredCheckpoint, Writing
from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf, Whole

FILE = "rank-00000.pickle"


def whole(step: int, *, size: int = 1, turn: int = 7) -> Whole:
    return Whole(step, size=size, run="vision/digits", turn=turn, at=0.0)


def write(shelf: Shelf, made: Whole, *, rank: int = 0, is_whole: bool = True) -> Writing:
    writing = Writing(shelf, made, rank)
    writing.write(FILE.replace("00000", f"{rank:05}"), [b"wei", b"ghts"])
    writing.seal({})
    if is_whole:
        writing.wait(patience=1)
        shelf.write_object(made.mark, vars(made))
    return writing


def test_what_has_no_mark_is_not_whole(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    write(shelf, whole(10))
    write(shelf, whole(20), is_whole=False)
    assert shelf.whole_steps() == [10]
    shelf.remove_unfinished()
    assert list(shelf.steps()) == [10]


def test_it_is_not_whole_before_all_processes_have_written(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    first = write(shelf, whole(10, size=2), is_whole=False)
    with pytest.raises(OSError, match="1 of 2 processes wrote no part of it"):
        first.wait(patience=0)
    write(shelf, whole(10, size=2), rank=1, is_whole=False)
    assert first.wait(patience=0).part(1)["files"] == {
        "rank-00001.pickle": {"size": 7, "crc32": 449999704}
    }


def test_a_process_that_fails_tells_the_first_one_why(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    first, second = (write(shelf, whole(10, size=2), rank=each, is_whole=False) for each in (0, 1))
    second.fail("the disk is full")
    with pytest.raises(OSError, match="process 1: the disk is full"):
        first.wait(patience=100)
    first.fail("")
    assert shelf.steps() == {}


def test_a_try_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    write(shelf, whole(10, turn=7))
    write(shelf, whole(10, turn=8), is_whole=False).fail("the disk is full")
    stored = StoredCheckpoint(shelf, shelf.whole(10))
    assert stored.read(FILE, stored.part(0)["files"][FILE]) == b"weights"


@pytest.mark.parametrize("damage", [b"weight", b"weightz", b"", None])
def test_a_file_that_is_not_what_was_written_is_damaged(
    tmp_path: Path, damage: bytes | None
) -> None:
    shelf = Shelf(str(tmp_path))
    write(shelf, whole(10))
    file = tmp_path / "step-0000000010" / "000007" / FILE
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    stored = StoredCheckpoint(shelf, shelf.whole(10))
    with pytest.raises(DamagedError, match=f"step-0000000010/000007/{FILE}"):
        stored.read(FILE, stored.part(0)["files"][FILE])


def test_the_newest_whole_ones_stay(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    for step in (10, 20, 30, 40):
        write(shelf, whole(step))
    write(shelf, whole(35), is_whole=False)
    # Of another run, or of this one before it went back.
    write(shelf, whole(50))
    shelf.tidy(keep=2, newest=whole(40))
    assert list(shelf.steps()) == [50, 40, 30]
    assert not (tmp_path / "step-0000000010").exists()


def test_of_a_step_that_was_written_again_the_earlier_try_goes(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    for turn in (7, 8):
        write(shelf, whole(10, turn=turn))
    shelf.tidy(keep=1, newest=whole(10, turn=8))
    assert {each.name for each in (tmp_path / "step-0000000010").iterdir()} == {
        "000008",
        "whole.json",
    }


def test_a_whole_one_stays_if_nothing_newer_is_whole(tmp_path: Path) -> None:
    shelf = Shelf(str(tmp_path))
    write(shelf, whole(10))
    write(shelf, whole(20), is_whole=False)
    shelf.tidy(keep=1, newest=whole(10))
    assert shelf.whole_steps() == [10]
