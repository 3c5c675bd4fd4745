"""Which checkpoints a place has, which of them are whole, and which may go.

Each process writes its files, then a part: `rank-N-TURN.json`, with their sizes and checksums. When those of all
processes are there, the first one writes `whole.json`. What has none was never finished. The turn is a number of
this one try, so that no part of an earlier one counts.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from trainer_infra.in_pod.checkpoints.place import Place

WHOLE = "whole.json"
_STEP = re.compile(r"step-(\d{10})/")
_PAUSE = 0.05
"""Seconds between two looks for what other processes write."""


class DamagedError(Exception):
    """A file of a checkpoint is missing, or is not what was written."""


@dataclass(frozen=True)
class Whole:
    """A checkpoint that was written to its end."""

    step: int
    size: int
    """Processes that wrote it."""
    run: str
    """Namespace and name of their run."""
    turn: int
    """Of the parts that count."""
    at: float
    """Seconds since 1970."""

    def part(self, rank: int) -> str:
        """The name of the file that says what a process wrote."""
        return f"rank-{rank:05}-{self.turn:06x}.json"


class Shelf:
    """The checkpoints below one folder of a place."""

    def __init__(self, place: Place, folder: str = "") -> None:
        self.place = place
        self._folder = folder

    @property
    def address(self) -> str:
        """Where they are, for messages."""
        return f"{self.place.address}/{self._folder}".rstrip("/")

    def name(self, step: int, file: str = "") -> str:
        """The name of a checkpoint's folder, or of a file in it."""
        parts = (self._folder, f"step-{step:010}", file)
        return "/".join(part for part in parts if part)

    def steps(self) -> dict[int, list[str]]:
        """The names of all files, by step, the newest first."""
        found: dict[int, list[str]] = {}
        start = len(self._folder) + 1 if self._folder else 0
        for name in self.place.names(self._folder):
            if matched := _STEP.match(name, start):
                found.setdefault(int(matched[1]), []).append(name)
        return dict(sorted(found.items(), reverse=True))

    def whole_steps(self) -> list[int]:
        """Steps with a whole checkpoint, the newest first."""
        return [step for step, names in self.steps().items() if self.name(step, WHOLE) in names]

    def read_whole(self, step: int) -> Whole:
        """What is known of a whole checkpoint.

        Raises:
            DamagedError: It cannot be read.
        """
        return Whole(**self.read_object(self.name(step, WHOLE)))

    def read_object(self, name: str) -> dict[str, Any]:
        """A JSON object.

        Raises:
            DamagedError: It is not there, or is none.
        """
        try:
            found: dict[str, Any] = json.loads(self.place.read(name))
        except (OSError, ValueError) as error:
            raise DamagedError(f"{name} cannot be read: {error}") from error
        return found

    def write_object(self, name: str, content: Any) -> None:
        """Write a JSON object."""
        self.place.write(name, [json.dumps(content).encode()])

    def write(self, step: int, file: str, content: Iterable[bytes]) -> dict[str, Any]:
        """Write a file, and return what its part says of it."""
        size = checksum = 0

        def counted() -> Iterator[bytes]:
            nonlocal size, checksum
            for each in content:
                size, checksum = size + len(each), zlib.crc32(each, checksum)
                yield each

        self.place.write(self.name(step, file), counted())
        return {"size": size, "crc32": checksum}

    def read(self, step: int, file: str, said: dict[str, Any]) -> bytes:
        """Read a file that is as its part says.

        Raises:
            DamagedError: It is not.
        """
        name = self.name(step, file)
        try:
            content = self.place.read(name)
        except OSError as error:
            raise DamagedError(f"{name} cannot be read: {error}") from error
        if (len(content), zlib.crc32(content)) != (said["size"], said["crc32"]):
            raise DamagedError(f"{name} is not what was written: {len(content)} bytes of {said['size']}")
        return content

    def finish(self, whole: Whole, patience: float) -> None:
        """Wait for the parts of all processes, then write that it is whole.

        Raises:
            OSError: A part did not come within `patience` seconds.
        """
        end = time.monotonic() + patience
        parts = {self.name(whole.step, whole.part(rank)) for rank in range(whole.size)}
        while missing := parts.difference(self.place.names(self.name(whole.step))):
            if time.monotonic() > end:
                raise OSError(f"{len(missing)} of {whole.size} processes wrote no part of it")
            time.sleep(_PAUSE)
        self.write_object(self.name(whole.step, WHOLE), vars(whole))

    def unmark(self, step: int) -> None:
        """Make a checkpoint one that is not whole, before it is written again."""
        self.place.remove(self.name(step, WHOLE))

    def remove(self, step: int, names: Iterable[str]) -> None:
        """Remove a checkpoint, what makes it whole first."""
        marker = self.name(step, WHOLE)
        for name in sorted(names, key=lambda each: each != marker):
            self.place.remove(name)

    def tidy(self, keep: int, newest: int) -> None:
        """Remove what is older than the newest `keep` whole ones, and what was never finished before the newest."""
        kept = 0
        for step, names in self.steps().items():
            is_whole = self.name(step, WHOLE) in names
            kept += is_whole
            if step < newest and (not is_whole or kept > keep):
                self.remove(step, names)

