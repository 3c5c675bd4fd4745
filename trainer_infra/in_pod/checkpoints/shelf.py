"""Which checkpoints a place has, which of them are whole, and which may go.

A checkpoint is a folder, `step-NUMBER`, in which each try to write it has a folder of its own. Each process writes its
files into that, and last of all a part, `rank-N.json`, with their sizes and checksums. When the parts of all processes
are there, the first one writes `whole.json` beside that folder, and names it. What has none was never finished; a try
that fails leaves an earlier one of the same step as it is.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trainer_infra.in_pod.checkpoints.place import CheckpointPlace, open_place

WHOLE = "whole.json"
_STEP = re.compile(r"step-(\d{10,})/")


class DamagedError(Exception):
    """A file of a checkpoint is missing, or is not what was written."""


@dataclass(frozen=True)
class Whole:
    """A checkpoint, by what was known of it when all of it was written."""

    step: int
    size: int
    """Processes that wrote it."""
    run: str
    """Namespace and name of their run."""
    turn: int
    """Of the try that counts."""
    at: float
    """Seconds since 1970, when it was begun."""
    more: Mapping[str, Any] | None = None
    """What the first process has to say of it."""

    @property
    def mark(self) -> str:
        """The name of the file that makes it whole."""
        return f"{folder_of(self.step)}/{WHOLE}"

    @property
    def folder(self) -> str:
        """The name of the folder of the try."""
        return f"{folder_of(self.step)}/{self.turn:06x}"


def folder_of(step: int) -> str:
    """The name of a checkpoint's folder."""
    return f"step-{step:010}"


class Shelf:
    """The checkpoints of a place."""

    def __init__(self, address: str, folder: str = "") -> None:
        self.address = f"{address.rstrip('/')}/{folder}".rstrip("/") or "/"
        self.place: CheckpointPlace = open_place(self.address)

    def steps(self) -> dict[int, list[str]]:
        """The names of all files, by step, the newest first.

        Raises:
            OSError: The place cannot be read.
        """
        found: dict[int, list[str]] = {}
        for name in self.place.names():
            if matched := _STEP.match(name):
                found.setdefault(int(matched[1]), []).append(name)
        return dict(sorted(found.items(), reverse=True))

    def whole_steps(self) -> list[int]:
        """Steps with a whole checkpoint, the newest first.

        Raises:
            OSError: The place cannot be read.
        """
        return [
            step for step, names in self.steps().items() if f"{folder_of(step)}/{WHOLE}" in names
        ]

    def whole(self, step: int) -> Whole:
        """What is known of a whole checkpoint.

        Raises:
            DamagedError: It cannot be known.
            OSError: The place cannot be read.
        """
        name = f"{folder_of(step)}/{WHOLE}"
        try:
            return Whole(**self.read_object(name))
        except TypeError as error:
            raise DamagedError(f"{name} is not what was written") from error

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """A part of a file, or all of it.

        Raises:
            DamagedError: It is not there, or the disk has lost it.
            OSError: The place cannot be read.
        """
        try:
            return self.place.read(name, start, length)
        except OSError as error:
            if isinstance(error, FileNotFoundError) or error.errno in {errno.EIO, errno.ENOTDIR}:
                raise DamagedError(f"{name} cannot be read: {error}") from error
            raise

    def read_object(self, name: str) -> dict[str, Any]:
        """A JSON object.

        Raises:
            DamagedError: It is not there, or is none.
            OSError: The place cannot be read.
        """
        content = self.read(name)
        try:
            found: dict[str, Any] = dict(json.loads(content))
        except (ValueError, TypeError) as error:
            raise DamagedError(f"{name} is not what was written") from error
        return found

    def write_object(self, name: str, content: Any) -> None:
        """Write a JSON object.

        Raises:
            OSError: The place cannot be written.
        """
        self.place.write(name, [json.dumps(content).encode()])

    def remove_unfinished(self) -> None:
        """Remove what has no mark, of processes that are gone."""
        for step, names in self.steps().items():
            if f"{folder_of(step)}/{WHOLE}" not in names:
                self._remove(names)

    def tidy(self, keep: int, newest: Whole) -> None:
        """Remove what is older than the newest `keep` whole ones, and what was never finished up to the newest.

        What is of a later step is another run's, or of this one before it went back, and stays until it is passed.
        """
        kept = 0
        for step, names in self.steps().items():
            is_whole = f"{folder_of(step)}/{WHOLE}" in names
            kept += is_whole and step <= newest.step
            if step == newest.step:
                ours = (newest.mark, f"{newest.folder}/")
                self._remove(name for name in names if not name.startswith(ours))
            elif step < newest.step and (not is_whole or kept > keep):
                self._remove(names)

    def _remove(self, names: Iterable[str]) -> None:
        """Remove files, a mark first."""
        for name in sorted(names, key=lambda each: not each.endswith(f"/{WHOLE}")):
            self.place.remove(name)
