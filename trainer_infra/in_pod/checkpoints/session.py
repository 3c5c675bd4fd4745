"""How a training saves and resumes, whatever its state is: what a program's steps and a framework's callback call."""

from __future__ import annotations

import atexit
import sys
import threading
import time
from typing import Any, NoReturn

from trainer_infra.in_pod.checkpoints import beats, termination
from trainer_infra.in_pod.checkpoints.arrangement import Arrangement
from trainer_infra.in_pod.checkpoints.attempts import TOLD, AttemptLog
from trainer_infra.in_pod.checkpoints.log import say
from trainer_infra.in_pod.checkpoints.one_checkpoint import Writing
from trainer_infra.in_pod.checkpoints.questions import Questions
from trainer_infra.in_pod.checkpoints.ranks import Ranks, by_first
from trainer_infra.in_pod.checkpoints.restoration import Restoration
from trainer_infra.in_pod.checkpoints.saving import SaveInFlight
from trainer_infra.in_pod.checkpoints.shelf import Shelf, Whole
from trainer_infra.in_pod.checkpoints.snapshot import Format
from trainer_infra.in_pod.checkpoints.writer import Writer

_LONG = 10.0
"""Seconds that a training waits for a save before it says so."""


class CheckpointSession:
    """One run of a program, from its restore on; all its processes call the same methods with the same steps."""

    def __init__(self, arrangement: Arrangement, ranks: Ranks, form: Format) -> None:
        self._arrangement = arrangement
        self.ranks = ranks
        self._form = form
        self._shelf = Shelf(arrangement.place, ranks.place)
        self._writer = Writer(self._shelf, arrangement.run)
        self._attempts = AttemptLog(self._shelf, self._writer, arrangement.run)
        # Parts of an evaluation, which have the step before it, take another time than steps.
        self._questions = {is_step: Questions(ranks) for is_step in (True, False)}
        self._step = -1
        self._begun = 0
        """Step of the last save that was begun, or from which the training goes on."""
        self._whole = -1
        """Step of the last one that this place has, as far as this process knows."""
        self._begun_at = time.monotonic()
        self._saving: SaveInFlight | None = None
        self.beats = beats.beats_of(ranks.rank)

    def restore(self, given: Any) -> Any:
        """The state of a checkpoint, or what was given; ends the program if it was told to end meanwhile.

        Raises:
            OSError: The place cannot be written or read.
            ValueError: A checkpoint is of another model; or the one to resume from is not there.
            SharedError: Another run writes to the same place.
            OtherProcessError: One of these in another process.
        """
        self.beats.beat(beats.RESTORES)
        number = by_first(self.ranks, self._open)
        # At the end it goes before what tells the place, which may be slow.
        atexit.register(self.beats.beat, beats.ENDED)
        unseen = self._writer.unseen(number, self.ranks.rank) if self.ranks.rank else ""
        if any(self.ranks.most(bool(unseen))):
            raise OSError(unseen or "another process cannot write checkpoints, and says why")
        found, whole, is_own = Restoration(
            self._arrangement, self._shelf, self.ranks, self._form
        ).restored(given)
        if whole:
            self._begun = self._step = whole.step
            self._whole = whole.step if is_own else -1
        if self.ranks.rank == 0:
            self._attempts.begin(self._begun)
        if any(self.ranks.most(termination.is_told())):
            self.end()
        self._begun_at = time.monotonic()
        self.beats.beat(beats.TRAINS, self._begun)
        return found

    def must_save(self, step: int) -> tuple[bool, bool]:
        """Of a step that is done, whether to save it now, and whether to end then; ends where it is saved already."""
        self.beats.beat(beats.TRAINS, step)
        is_told, is_due = self._asked(step)
        self.beats.beat(beats.TRAINS)
        if not is_told:
            return is_due, False
        # For the save that goes on.
        self.wait()
        (is_new,) = self.ranks.most(step > self._whole)
        if not is_new or not self._arrangement.on_preemption:
            self.end()
        return True, True

    def _asked(self, step: int) -> tuple[bool, bool]:
        """Whether the program is to end, and whether a save is due, in any process."""
        termination.listen()
        every, pause = self._arrangement.every_steps, self._arrangement.every_seconds
        is_late = pause is not None and time.monotonic() - self._begun_at >= pause
        questions = self._questions[step != self._step]
        self._step = step
        is_told, is_late = questions.ask(termination.is_told(), is_late)
        if self.ranks.rank == 0:
            self._attempts.note(step)
            if self._writer.is_silent():
                threading.Thread(target=self._writer.sign_again).start()
        is_due = is_late or (every is not None and step - self._begun >= every)
        return is_told, is_due and step > self._begun

    def save(self, step: int, state: Any) -> None:
        """Begin to save a state; waits for the save before.

        Raises:
            SharedError: Another run has begun to write to the same place.
            OtherProcessError: The same in another process.
        """
        self.wait()
        turn = by_first(self.ranks, self._turn)
        copy = self._form.copied(state)
        whole = Whole(step, self.ranks.size, self._arrangement.run, turn, time.time())
        writing = Writing(self._shelf, whole, self.ranks.rank)
        self._begun, self._begun_at = step, time.monotonic()
        self._saving = SaveInFlight(
            copy, writing, self._arrangement.keep, self._arrangement.save_seconds
        )
        self._saving.start()
        # A process that trains while another one still copies would seem to hang.
        self.ranks.most(0)
        self.beats.beat(beats.TRAINS)

    def end(self) -> NoReturn:
        """End the program with 143, once all processes have saved."""
        self.wait()
        # torchrun kills the processes of a node when one of them has ended.
        self.ranks.most(0)
        if self.ranks.rank == 0:
            self._attempts.end(TOLD)
            say(f"told to end after step {max(self._step, 0)}")
        sys.exit(termination.EXIT_CODE)

    def _open(self) -> int:
        try:
            number = self._writer.begin()
        except OSError as error:
            what = f"checkpoints cannot be written to {self._shelf.address}: {error}"
            raise OSError(what) from error
        # After the last save, for which an interpreter that ends waits.
        atexit.register(self._writer.sign_again, has_ended=True)
        return number

    def _turn(self) -> int:
        """A number for this save, the same for all processes, when no other run writes here."""
        try:
            self._writer.check()
            self._writer.sign()
            self._attempts.tell()
        except OSError:
            # The save says why, if it fails as well.
            pass
        return self._writer.next_turn()

    def wait(self) -> None:
        """Wait for the save that goes on, if one does; from here until `save` returns this process saves."""
        self.beats.beat(beats.SAVES)
        if self._saving is None:
            return
        self._saving.join(_LONG)
        if self._saving.is_alive():
            if self.ranks.rank == 0:
                say(
                    f"the training waits: the checkpoint of step {self._saving.step} is still being written to {self._shelf.address}"
                )
            self._saving.join()
        if self._saving.is_done:
            self._whole = self._saving.step
        self._saving = None
