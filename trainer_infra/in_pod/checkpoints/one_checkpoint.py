"""One checkpoint, as it is written by one of its processes, and as it is read."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf, Whole

PATIENCE = 120.0
"""Seconds that the first process waits for what the others write, at least."""
_LONGEST = 2.0
"""Seconds between two looks, at most: a bucket has its price for each."""


class Writing:
    """A try to write a checkpoint, in one of its processes."""

    def __init__(self, shelf: Shelf, whole: Whole, rank: int) -> None:
        self.shelf = shelf
        self.whole = whole
        self.rank = rank
        self._began = time.monotonic()
        self._files: dict[str, dict[str, int]] = {}

    def write(self, file: str, content: Iterable[bytes]) -> dict[str, int]:
        """Write a file of this process, and return its size and checksum.

        Raises:
            OSError: The place cannot be written.
        """
        size = checksum = 0

        def counted() -> Iterator[bytes]:
            nonlocal size, checksum
            for each in content:
                size, checksum = size + len(each), zlib.crc32(each, checksum)
                yield each

        self.shelf.place.write(f"{self.whole.folder}/{file}", counted())
        self._files[file] = {"size": size, "crc32": checksum}
        return self._files[file]

    def seal(self, said: Mapping[str, Any]) -> None:
        """Say that this process has written all of its part, and what else there is to say of it.

        Raises:
            OSError: The place cannot be written.
        """
        content = {"files": self._files, **said}
        self.shelf.write_object(f"{self.whole.folder}/{_part(self.rank)}", content)

    def wait(self, patience: float) -> StoredCheckpoint:
        """Wait for all processes, and return what they have written.

        Raises:
            OSError: One of them could not write, or said nothing for twice as long as this one took.
        """
        end = time.monotonic() + max(patience, 2 * (time.monotonic() - self._began))
        missing, pause = set(range(self.whole.size)), 0.05
        while True:
            names = {each.rpartition("/")[2] for each in self.shelf.place.names(self.whole.folder)}
            missing = {rank for rank in missing if _part(rank) not in names}
            for rank in missing:
                if (failure := file_of(rank, "failed")) in names:
                    said = self.shelf.read_object(f"{self.whole.folder}/{failure}")
                    raise OSError(f"process {rank}: {said['why']}")
            if not missing:
                return StoredCheckpoint(self.shelf, self.whole)
            if time.monotonic() > end:
                raise OSError(f"{len(missing)} of {self.whole.size} processes wrote no part of it")
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST)

    def fail(self, why: str) -> None:
        """Remove what this process wrote, as the first one what all did, and tell that one why."""
        token = f"/{file_of(self.rank, '')}"
        for name in self.shelf.place.names(self.whole.folder):
            if self.rank == 0 or token in name:
                self.shelf.place.remove(name)
        if self.rank:
            name = f"{self.whole.folder}/{file_of(self.rank, 'failed')}"
            self.shelf.write_object(name, {"why": why})


class StoredCheckpoint:
    """A checkpoint that is read."""

    def __init__(self, shelf: Shelf, whole: Whole) -> None:
        self.shelf = shelf
        self.whole = whole

    def part(self, rank: int) -> dict[str, Any]:
        """What a process said of its part.

        Raises:
            DamagedError: It is missing.
            OSError: The place cannot be read.
        """
        return self.shelf.read_object(f"{self.whole.folder}/{_part(rank)}")

    def read(self, file: str, said: Mapping[str, int]) -> bytes:
        """A file that is as its part says.

        Raises:
            DamagedError: It is missing, or is not what was written.
            OSError: The place cannot be read.
        """
        return self.piece(file, 0, said["size"], said["crc32"], is_all=True)

    def piece(
        self, file: str, start: int, size: int, checksum: int, *, is_all: bool = False
    ) -> bytes:
        """A piece of a file that has this checksum.

        Raises:
            DamagedError: It is missing, or is not what was written.
            OSError: The place cannot be read.
        """
        name = f"{self.whole.folder}/{file}"
        content = self.shelf.read(name, start, None if is_all else size)
        if (len(content), zlib.crc32(content)) != (size, checksum):
            raise DamagedError(f"{name} is not what was written: {len(content)} bytes of {size}")
        return content


def file_of(rank: int, kind: str) -> str:
    """The name of a file that a process writes."""
    return f"rank-{rank:05}.{kind}"


def _part(rank: int) -> str:
    return file_of(rank, "json")
