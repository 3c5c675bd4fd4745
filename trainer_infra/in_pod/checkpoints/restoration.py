"""From which checkpoint a program resumes.

What a run has saved itself goes before what it was told to begin with: a run that was preempted goes on, whether it
began anew, with a step, or with another run's checkpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from trainer_infra.in_pod.checkpoints.arrangement import LATEST, Arrangement
from trainer_infra.in_pod.checkpoints.log import say
from trainer_infra.in_pod.checkpoints.one_checkpoint import StoredCheckpoint
from trainer_infra.in_pod.checkpoints.ranks import OtherProcessError, Ranks, by_first
from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf, Whole
from trainer_infra.in_pod.checkpoints.snapshot import Format


class Restoration:
    """A search for a checkpoint, which all processes make together."""

    def __init__(self, arrangement: Arrangement, shelf: Shelf, ranks: Ranks, form: Format) -> None:
        self._resume = arrangement.resume
        self._run = arrangement.run
        self._ranks = ranks
        self._form = form
        is_elsewhere = isinstance(self._resume, str) and self._resume != LATEST
        self._shelves = (shelf, Shelf(str(self._resume), ranks.place) if is_elsewhere else shelf)
        self._candidates = self._listed()
        self._damaged = 0

    @property
    def _asked_for(self) -> Shelf:
        return self._shelves[1]

    def restored(self, given: Any) -> tuple[Any, Whole | None, bool]:
        """A state, its checkpoint, and whether that is one of this place; what was given where there is none.

        Raises:
            OSError: The place cannot be read, or no checkpoint in it can.
            ValueError: The checkpoint is of another model; or there is none where one was asked for.
            OtherProcessError: One of these in another process.
        """
        while code := by_first(self._ranks, self._next):
            which, step = (code - 1) % 2, (code - 1) // 2
            shelf, error = self._shelves[which], None
            found: tuple[StoredCheckpoint, Callable[[], Any]] | None = None
            try:
                stored = StoredCheckpoint(shelf, shelf.whole(step))
                found = stored, self._form.read(stored, given)
            except Exception as raised:  # noqa: BLE001  the others wait for an answer
                error = raised
            is_damaged = isinstance(error, DamagedError)
            if is_damaged:
                say(
                    f"the checkpoint of step {step} is damaged, and the one before is looked for: {error}"
                )
            some_damaged, some_refused = self._ranks.most(
                is_damaged, bool(error) and not is_damaged
            )
            if some_refused:
                raise _refusal(error, shelf, step)
            if found and not some_damaged:
                stored, put = found
                self._say_which(stored)
                return put(), stored.whole, shelf is self._shelves[0]
            self._damaged += 1
        return given, None, False

    def _next(self) -> int:
        """The next one to try, as a number from 1 on; 0 where there is nothing to resume from."""
        for which, step in self._candidates:
            return 1 + 2 * step + which
        if self._damaged:
            which_ones = (
                "the only checkpoint"
                if self._damaged == 1
                else f"each of {self._damaged} checkpoints"
            )
            raise OSError(
                f"{which_ones} in {self._asked_for.address} is damaged; resume=False begins anew"
            )
        if self._resume is not False and self._resume != LATEST:
            raise ValueError(self._no_such())
        say(
            f"there is no checkpoint of this run in {self._shelves[0].address}; the training begins anew"
        )
        return 0

    def _listed(self) -> Iterator[tuple[int, int]]:
        """Steps of this run, then those that were asked for: the newest first, each with the shelf that it is on."""
        own, resume = self._shelves[0], self._resume
        tried = set()
        for step in own.whole_steps():
            try:
                is_own = bool(self._run) and own.whole(step).run == self._run
            except DamagedError as error:
                tried.add(step)
                self._damaged += 1
                say(
                    f"the checkpoint of step {step} is damaged, and the one before is looked for: {error}"
                )
                continue
            if is_own:
                tried.add(step)
                yield 0, step
        wanted = None if isinstance(resume, str) else int(resume)
        for step in self._asked_for.whole_steps() if resume is not False else ():
            is_tried = self._asked_for is own and step in tried
            if not is_tried and wanted in {None, step}:
                yield int(self._asked_for is not own), step

    def _no_such(self) -> str:
        steps = ", ".join(str(step) for step in reversed(self._asked_for.whole_steps())) or "none"
        step = "" if isinstance(self._resume, str) else f" of step {self._resume}"
        return f"{self._asked_for.address} has no whole checkpoint{step} to resume from; it has {steps}"

    def _say_which(self, stored: StoredCheckpoint) -> None:
        if self._ranks.rank:
            return
        say(f"the training goes on from step {stored.whole.step}, from {stored.shelf.address}")
        if stored.whole.size != self._ranks.size:
            say(
                f"{stored.whole.size} processes wrote it, and there are {self._ranks.size} now: of values that each "
                "process has of its own, new processes take the first one's"
            )


def _refusal(error: Exception | None, shelf: Shelf, step: int) -> Exception:
    if isinstance(error, ValueError):
        return ValueError(
            f"the checkpoint of step {step} in {shelf.address} is of another model: {error}. Give this run another "
            "uri, or resume=False"
        )
    return error or OtherProcessError(
        f"another process cannot resume from step {step}, and says why"
    )
