"""`Checkpointer`: what a training program calls at each step."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from trainer_infra.in_pod.checkpoints import termination
from trainer_infra.in_pod.checkpoints.arrangement import LATEST, Arrangement, read_arrangement
from trainer_infra.in_pod.checkpoints.place import open_place
from trainer_infra.in_pod.checkpoints.questions import Questions
from trainer_infra.in_pod.checkpoints.ranks import find_ranks
from trainer_infra.in_pod.checkpoints.restoration import restored, say
from trainer_infra.in_pod.checkpoints.shelf import Shelf, Whole
from trainer_infra.in_pod.checkpoints.snapshot import Format, Snapshot
from trainer_infra.in_pod.checkpoints.writer import SharedError, Writer

PATIENCE = 120.0
"""Seconds that the first process waits for what the others write of a checkpoint, at least."""


class Checkpointer:
    """Saves the state of a training when it is due and when the program is told to end, and restores it.

    What `checkpoint=Checkpoint(...)` of the TrainJob says decides where and when. In a program that no such
    TrainJob started, nothing is saved, restored or caught.

    All processes of a framework's group call the same methods with the same steps.
    """

    def __init__(self) -> None:
        self._arrangement = read_arrangement()
        self._session: _Session | None = None
        if self._arrangement is not None and not termination.listen():
            say("it was not made in the main thread, so that nothing is saved when the run is to end")

    def restore(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state of the newest whole checkpoint, or what was given.

        Modules and optimizers of torch, and what else has `load_state_dict`, are changed themselves.

        Args:
            state: what the program begins with, by name: modules and optimizers of torch, tensors, arrays
                of JAX and numpy, models of XGBoost, and whatever can be pickled.

        Raises:
            OSError: The place cannot be written or read.
            ValueError: A checkpoint is of another model; or the step to resume from is not there.
            SharedError: Another run writes to the same place.
        """
        if self._arrangement is None:
            return dict(state)
        self._session = _Session(self._arrangement, state)
        return self._session.restore(state)

    def step(self, step: int, state: Mapping[str, Any]) -> None:
        """Say that a step is done; saves when it is due, ends the program with 143 when it was told to end.

        Call it in an evaluation too, with the number of the last step: nothing is saved twice.

        Args:
            step: steps that are done in all, those before the checkpoint included.
            state: as `restore` takes it, after that step.

        Raises:
            SystemExit: with 143.
            SharedError: Another run has begun to write to the same place.
        """
        if self._arrangement is None:
            return
        if self._session is None:
            raise RuntimeError("Checkpointer.step was called before Checkpointer.restore")
        self._session.step(step, state)


class _Session:
    """One run of a program, from its restore on."""

    def __init__(self, arrangement: Arrangement, state: Mapping[str, Any]) -> None:
        self._arrangement = arrangement
        self._ranks = find_ranks()
        self._shelf = Shelf(open_place(arrangement.place), self._ranks.place)
        self._format = Format(state, self._ranks)
        self._writer = Writer(self._shelf, arrangement.run, arrangement.every_seconds)
        self._questions = Questions(self._ranks)
        self._saved = -1
        self._saved_at = time.monotonic()
        self._save: threading.Thread | None = None

    def restore(self, state: Mapping[str, Any]) -> dict[str, Any]:
        if self._ranks.rank == 0:
            try:
                self._writer.begin()
            except OSError as error:
                what = f"checkpoints cannot be written to {self._shelf.address}: {error}"
                raise OSError(what) from error
            # After the last save, for which an interpreter that ends waits.
            atexit.register(self._leave)
        source = self._shelf
        resume = self._arrangement.resume
        if isinstance(resume, str) and resume != LATEST:
            source = Shelf(open_place(resume), self._ranks.place)
        self._saved, found = restored(source, self._format, self._ranks, state, resume)
        if source is not self._shelf:
            self._saved = -1
        return found

    def step(self, step: int, state: Mapping[str, Any]) -> None:
        every, pause = self._arrangement.every_steps, self._arrangement.every_seconds
        is_old = pause is not None and time.monotonic() - self._saved_at >= pause
        is_told, is_old = self._questions.ask(termination.is_told(), is_old)
        self._saved = max(self._saved, 0)
        is_due = is_old or (every is not None and step - self._saved >= every)
        if is_told:
            self._end(step, state)
        if is_due and step > self._saved:
            self._begin_to_save(step, state)

    def _end(self, step: int, state: Mapping[str, Any]) -> None:
        if self._arrangement.on_preemption and step > self._saved:
            self._begin_to_save(step, state)
        self._wait()
        if self._ranks.rank == 0:
            say(f"told to end after step {step}")
        sys.exit(termination.EXIT_CODE)

    def _begin_to_save(self, step: int, state: Mapping[str, Any]) -> None:
        self._wait()
        turn = self._turn(step)
        snapshot = self._format.copied(state)
        whole = Whole(step, self._ranks.size, self._arrangement.run, turn, time.time())
        self._saved, self._saved_at = step, time.monotonic()
        # Not a daemon: an interpreter that ends waits for it.
        self._save = threading.Thread(target=self._write, args=(snapshot, whole))
        self._save.start()

    def _turn(self, step: int) -> int:
        """A number for this save, the same for all processes, when nobody else writes here."""
        refused, turn = "", 0
        if self._ranks.rank == 0:
            try:
                self._writer.check()
                self._writer.sign()
                self._shelf.unmark(step)
                turn = self._writer.next_turn()
            except SharedError as error:
                refused = str(error)
            except OSError:
                # The save says why, if it fails as well.
                turn = self._writer.next_turn()
        is_refused, turned = self._ranks.most(bool(refused), turn)
        if is_refused:
            raise SharedError(refused or "another run writes to the same place")
        return int(turned)

    def _leave(self) -> None:
        with contextlib.suppress(OSError, SharedError):
            self._writer.check()
            self._writer.leave()

    def _wait(self) -> None:
        if self._save is not None:
            self._save.join()
            self._save = None

    def _write(self, snapshot: Snapshot, whole: Whole) -> None:
        began, limit = time.monotonic(), self._arrangement.save_seconds
        try:
            self._format.write(snapshot, self._shelf, whole)
            if self._ranks.rank == 0:
                self._shelf.finish(whole, max(PATIENCE, 2 * (limit or 0)))
                self._shelf.tidy(self._arrangement.keep, whole.step)
        except OSError as error:
            say(
                f"the checkpoint of step {whole.step} could not be written to {self._shelf.address}: {error}. "
                f"The training goes on; {_newest(self._shelf.whole_steps)}"
            )
            return
        took = time.monotonic() - began
        if limit is not None and took > limit:
            say(
                f"the checkpoint of step {whole.step} took {took:.0f} s, and save_seconds is {limit:g}: when the "
                "run is to end, there may not be the time for one"
            )


def _newest(steps: Callable[[], list[int]]) -> str:
    try:
        found = steps()
    except OSError:
        found = []
    return f"the newest whole one is that of step {found[0]}" if found else "there is no whole one"
