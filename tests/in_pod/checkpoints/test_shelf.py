"""Which checkpoints are whole, and which may go."""

from pathlib import Path

import pytest

from trainer_infra.in_pod.checkpoints.place import Folder
from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf, Whole


def shelf_at(folder: Path) -> Shelf:
    return Shelf(Folder(str(folder)))


def write(shelf: Shelf, step: int, *, is_whole: bool = True, content: bytes = b"weights") -> dict[str, int]:
    said = shelf.write(step, "rank-00000.pickle", [content])
    whole = Whole(step, size=1, run="vision/digits", turn=7, at=0.0)
    shelf.write_object(shelf.name(step, whole.part(0)), {"plain": said})
    if is_whole:
        shelf.finish(whole, patience=1)
    return said


def test_what_has_no_mark_is_not_whole(tmp_path: Path) -> None:
    shelf = shelf_at(tmp_path)
    write(shelf, 10)
    write(shelf, 20, is_whole=False)
    assert shelf.whole_steps() == [10]


def test_it_is_not_whole_before_all_processes_have_written(tmp_path: Path) -> None:
    shelf = shelf_at(tmp_path)
    write(shelf, 10, is_whole=False)
    with pytest.raises(OSError, match="1 of 2 processes wrote no part of it"):
        shelf.finish(Whole(10, size=2, run="", turn=7, at=0.0), patience=0)
    with pytest.raises(OSError, match="1 of 1 processes"):
        shelf.finish(Whole(10, size=1, run="", turn=8, at=0.0), patience=0)
    assert shelf.whole_steps() == []


@pytest.mark.parametrize("damage", [b"weight", b"weightz", b"", None])
def test_a_file_that_is_not_what_was_written_is_damaged(tmp_path: Path, damage: bytes | None) -> None:
    shelf = shelf_at(tmp_path)
    said = write(shelf, 10)
    file = tmp_path / shelf.name(10, "rank-00000.pickle")
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    with pytest.raises(DamagedError, match="step-0000000010/rank-00000.pickle"):
        shelf.read(10, "rank-00000.pickle", said)


def test_the_newest_whole_ones_stay(tmp_path: Path) -> None:
    shelf = shelf_at(tmp_path)
    for step in (10, 20, 30, 40):
        write(shelf, step)
    write(shelf, 35, is_whole=False)
    write(shelf, 50, is_whole=False)
    shelf.tidy(keep=2, newest=40)
    # What is newer than the newest whole one may be being written.
    assert list(shelf.steps()) == [50, 40, 30]
    assert not (tmp_path / "step-0000000010").exists()


def test_a_whole_one_stays_if_nothing_newer_is_whole(tmp_path: Path) -> None:
    shelf = shelf_at(tmp_path)
    write(shelf, 10)
    write(shelf, 20, is_whole=False)
    shelf.tidy(keep=1, newest=10)
    assert shelf.whole_steps() == [10]


def test_nodes_that_know_nothing_of_each_other_have_their_own(tmp_path: Path) -> None:
    place = Folder(str(tmp_path))
    write(Shelf(place, "node-1"), 10)
    assert Shelf(place).whole_steps() == []
    assert Shelf(place, "node-1").whole_steps() == [10]
