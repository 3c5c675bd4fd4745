"""Two runs in one place."""

from pathlib import Path

import pytest

from trainer_infra.in_pod.checkpoints.place import Folder
from trainer_infra.in_pod.checkpoints.shelf import Shelf
from trainer_infra.in_pod.checkpoints.writer import SharedError, Writer


def writer_at(folder: Path, run: str) -> Writer:
    return Writer(Shelf(Folder(str(folder))), run, None)


def test_another_run_does_not_begin_where_one_writes(tmp_path: Path) -> None:
    writer_at(tmp_path, "vision/digits").begin()
    with pytest.raises(SharedError, match="run vision/digits writes its checkpoints to .* give each run"):
        writer_at(tmp_path, "vision/letters").begin()


def test_another_run_goes_on_where_one_has_ended(tmp_path: Path) -> None:
    first = writer_at(tmp_path, "vision/digits")
    first.begin()
    first.leave()
    writer_at(tmp_path, "vision/letters").begin()


def test_a_later_attempt_takes_over_and_the_earlier_one_ends(tmp_path: Path) -> None:
    first, second = (writer_at(tmp_path, "vision/digits") for _ in range(2))
    first.begin()
    second.begin()
    second.check()
    with pytest.raises(SharedError, match="another attempt of this run has begun"):
        first.check()
