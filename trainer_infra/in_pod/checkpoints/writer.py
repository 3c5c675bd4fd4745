"""Who writes to a place: two runs in one would remove each other's checkpoints.

`writer.json` has the run that began last, a number of its attempt, and when that last said that it is at it, once a
minute. A later run takes the place over, as a later attempt of the same run does, and the one before ends at its next
save: Pulumi starts a run in place of another before it deletes that. It does not take the place back when it is
restarted.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from trainer_infra.in_pod.checkpoints.log import say
from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf

FILE = "writer.json"
PAUSE = 60.0
"""Seconds after which a run says again that it is at it."""
SILENT = 600.0
"""Seconds after which a run that says nothing is taken for gone: a step or an evaluation may take some of them."""
VISIBLE = 90.0
"""Seconds in which a file is seen on other nodes: NFS remembers for a minute what it has seen before."""


class SharedError(Exception):
    """Another run writes to the same place."""


@dataclass(frozen=True)
class _WriterEntry:
    run: str
    number: int
    at: float
    has_ended: bool = False
    displaced: Sequence[str] = ()
    """Runs from which it took the place over while they were at it."""


class Writer:
    """This attempt of a run, among those that may write to a place."""

    def __init__(self, shelf: Shelf, run: str) -> None:
        self._shelf = shelf
        self._run = run
        self._random = random.SystemRandom()
        self._number = self.next_turn()
        self._signed_at = 0.0
        self._displaced: Sequence[str] = ()

    def begin(self) -> int:
        """Say that this one writes from now on, and return its number; remove what was never finished.

        Raises:
            SharedError: Another run has taken the place over from this one, and is still at it.
            OSError: The place cannot be read or written.
        """
        found = self._found()
        age = time.time() - found.at if found else SILENT
        if found and not found.has_ended and age < SILENT:
            if self._run in found.displaced:
                raise SharedError(self._taken_over_by(f"run {found.run}"))
            self._displaced = found.displaced
            if found.run != self._run:
                self._displaced = (*found.displaced, found.run)
                say(
                    f"run {found.run} wrote its checkpoints to {self._shelf.address} until {age:.0f} s ago; this run "
                    "takes the place over"
                )
        self._shelf.remove_unfinished()
        self.sign()
        return self._number

    def unseen(self, number: int, rank: int) -> str:
        """Why a process that is not the first one cannot write where that does; empty if it can."""
        end, pause = time.monotonic() + VISIBLE, 0.05
        while (found := self._found()) is None or found.number != number:
            if time.monotonic() > end:
                return f"{self._shelf.address} is not the same place for all processes; mount one volume on all nodes"
            time.sleep(pause)
            pause = min(2 * pause, 2.0)
        probe = f"probe-{rank:05}"
        try:
            self._shelf.write_object(probe, {"number": number})
            self._shelf.place.remove(probe)
        except OSError as error:
            return f"checkpoints cannot be written to {self._shelf.address}: {error}"
        return ""

    def sign(self, *, has_ended: bool = False) -> None:
        """Say that this one is still at it, or has ended.

        Raises:
            OSError: The place cannot be written.
        """
        self._signed_at = time.monotonic()
        self._shelf.write_object(
            FILE,
            vars(_WriterEntry(self._run, self._number, time.time(), has_ended, self._displaced)),
        )

    def sign_again(self, *, has_ended: bool = False) -> None:
        """The same, if no other one has begun; a place that cannot be written is told of at the next save."""
        with contextlib.suppress(OSError, SharedError):
            self.check()
            self.sign(has_ended=has_ended)

    def is_silent(self) -> bool:
        """Whether it is time to say it again."""
        return time.monotonic() - self._signed_at > PAUSE

    def check(self) -> None:
        """See that no other one has begun.

        Raises:
            SharedError: One has.
            OSError: The place cannot be read.
        """
        found = self._found()
        if found and found.number != self._number and not found.has_ended:
            other = f"run {found.run}" if found.run != self._run else "another attempt of this run"
            raise SharedError(self._taken_over_by(other))

    def _taken_over_by(self, other: str) -> str:
        return (
            f"{other} has begun to write its checkpoints to {self._shelf.address}; this one ends. "
            "Give each run its own uri"
        )

    def next_turn(self) -> int:
        """A number for one try to save."""
        return self._random.randrange(1, 1 << 24)

    def _found(self) -> _WriterEntry | None:
        try:
            return _WriterEntry(**self._shelf.read_object(FILE))
        except (DamagedError, TypeError):
            return None
