"""A checkpoint that a framework writes itself, as files in a folder: copied to the place of the run, and back.

Where the nodes of a run share no folder, the first process of each node copies what its node has.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trainer_infra.in_pod.checkpoints import termination
from trainer_infra.in_pod.checkpoints.arrangement import Arrangement, read_arrangement
from trainer_infra.in_pod.checkpoints.one_checkpoint import StoredCheckpoint, Writing, file_of
from trainer_infra.in_pod.checkpoints.place import PIECE
from trainer_infra.in_pod.checkpoints.ranks import Ranks, find_ranks
from trainer_infra.in_pod.checkpoints.session import CheckpointSession
from trainer_infra.in_pod.checkpoints.shelf import DamagedError

FILES = "files"
_TOKEN = ".of-the-first-process"  # noqa: S105  no secret


class FolderFormat:
    """The way to save a folder's files. What is read of step N is put into the folder `checkpoint-N`."""

    def __init__(self, ranks: Ranks, below: Path) -> None:
        self._ranks = ranks
        self._below = below
        self._is_first_of_node = os.environ.get("LOCAL_RANK", "0") == "0"

    def folder_of(self, step: int) -> Path:
        """Where the files of a step are on this node."""
        return self._below / f"checkpoint-{step}"

    def copied(self, state: tuple[Path, bool]) -> FolderCopy:
        """The files of a folder, which the framework has written, and whether it may go once they are copied."""
        folder, is_ours = state
        token = folder / _TOKEN
        if self._ranks.rank == 0:
            token.touch()
        self._ranks.most(0)
        is_shared = token.exists()
        self._ranks.most(0)
        if self._ranks.rank == 0:
            token.unlink()
        is_writer = self._ranks.rank == 0 or (self._is_first_of_node and not is_shared)
        return FolderCopy(folder if is_writer else None, may_go=is_ours)

    def read(self, stored: StoredCheckpoint, given: Any) -> Callable[[], str]:
        """Fetch the files, as the first process of this node; what that returns has the folder's path."""
        del given
        folder = self.folder_of(stored.whole.step)
        if self._is_first_of_node:
            shutil.rmtree(folder, ignore_errors=True)
            for rank in range(stored.whole.size):
                for file, said in stored.part(rank)["files"].items():
                    target = folder / file.partition("/")[2]
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with target.open("wb") as written:
                        for each in _checked(stored, file, said):
                            written.write(each)
        return lambda: str(folder)


class FolderCopy:
    """What one process copies."""

    def __init__(self, folder: Path | None, *, may_go: bool) -> None:
        self._folder = folder
        self._may_go = may_go

    def write(self, writing: Writing) -> dict[str, Any]:
        """As in `Copy`."""
        if self._folder is None:
            return {}
        own = file_of(writing.rank, FILES)
        for file in sorted(each for each in self._folder.rglob("*") if each.is_file()):
            name = file.relative_to(self._folder).as_posix()
            writing.write(f"{own}/{name}", _contents(file))
        if self._may_go:
            shutil.rmtree(self._folder, ignore_errors=True)
        return {}

    def finish(self, writing: Writing, stored: StoredCheckpoint) -> dict[str, Any]:
        """As in `Copy`."""
        del writing, stored
        return {}


class FrameworkSession(CheckpointSession):
    """What a framework's callback asks at each step, and where it saves: a folder, and whether that may go then."""

    def __init__(self, arrangement: Arrangement, ranks: Ranks, form: FolderFormat) -> None:
        super().__init__(arrangement, ranks, form)
        self.folder_of = form.folder_of
        """Where the framework writes the checkpoint of a step."""
        self.resume_from: str | None = self.restore(None)
        """The folder of the checkpoint to resume from, as the framework wrote it."""


def open_session(below: str) -> FrameworkSession | None:
    """The session of a framework that writes below a folder of its node; None where no checkpoint was arranged.

    Raises:
        OSError: The place cannot be written or read.
        ValueError: The checkpoint to resume from is not there.
        SharedError: Another run writes to the same place.
        OtherProcessError: One of these in another process.
    """
    arrangement = read_arrangement()
    if arrangement is None:
        return None
    termination.listen()
    ranks = find_ranks()
    return FrameworkSession(arrangement, ranks, FolderFormat(ranks, Path(below)))


def _contents(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while content := opened.read(PIECE):
            yield content


def _checked(stored: StoredCheckpoint, file: str, said: dict[str, int]) -> Iterator[bytes]:
    name, start, checksum = f"{stored.whole.folder}/{file}", 0, 0
    while start < said["size"]:
        content = stored.shelf.read(name, start, min(PIECE, said["size"] - start))
        start, checksum = start + len(content), zlib.crc32(content, checksum)
        yield content
        if not content:
            break
    if (start, checksum) != (said["size"], said["crc32"]):
        raise DamagedError(f"{name} is not what was written: {start} bytes of {said['size']}")
