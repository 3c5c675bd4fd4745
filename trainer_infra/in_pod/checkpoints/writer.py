"""Who writes to a place: two runs in one would remove each other's checkpoints.

`writer.json` has the run that began last, a number of its own, and when it wrote last. A run that
finds another one's at its next save stops; one that begins where another one is still at it does not begin.
"""

from __future__ import annotations

import random
import time

from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf

FILE = "writer.json"
SILENT = 600.0
"""Seconds after which a run that wrote nothing is taken for gone, unless its saves are further apart."""


class SharedError(Exception):
    """Another run writes to the same place."""


class Writer:
    """This attempt of a run, among those that may write to a place; only the first process asks."""

    def __init__(self, shelf: Shelf, run: str, every_seconds: float | None) -> None:
        self._shelf = shelf
        self._run = run
        self._random = random.SystemRandom()
        self._number = self._random.randrange(1 << 53)
        self._silent = max(SILENT, 2 * (every_seconds or 0))

    def begin(self) -> None:
        """Say that this one writes from now on.

        Raises:
            SharedError: Another run wrote here not long ago, and has not said that it ended.
        """
        run, _, at = self._found()
        if run not in {"", self._run} and time.time() - at < self._silent:
            raise SharedError(
                f"run {run} writes its checkpoints to {self._shelf.address} too, {time.time() - at:.0f} s ago "
                "for the last time; give each run its own uri"
            )
        self.sign()

    def sign(self) -> None:
        """Say that this one still writes.

        Raises:
            OSError: The place cannot be written.
        """
        content = {"run": self._run, "number": self._number, "at": time.time()}
        self._shelf.write_object(FILE, content)

    def check(self) -> None:
        """See that no other one has begun.

        Raises:
            SharedError: One has.
        """
        run, number, _ = self._found()
        if run and number != self._number:
            other = "another attempt of this run" if run == self._run else f"run {run}"
            raise SharedError(
                f"{other} has begun to write its checkpoints to {self._shelf.address}; this one ends. "
                "Give each run its own uri"
            )

    def next_turn(self) -> int:
        """A number for one try to save. JAX's float32 has it exactly."""
        return self._random.randrange(1, 1 << 24)

    def leave(self) -> None:
        """Say that this one has ended."""
        self._shelf.write_object(FILE, {"run": "", "number": self._number, "at": time.time()})

    def _found(self) -> tuple[str, int, float]:
        try:
            found = self._shelf.read_object(FILE)
        except DamagedError:
            return "", 0, 0.0
        return found["run"], found["number"], found["at"]
