"""`Checkpointer`: what a training program calls at each step."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from trainer_infra.in_pod.checkpoints import termination
from trainer_infra.in_pod.checkpoints.arrangement import read_arrangement
from trainer_infra.in_pod.checkpoints.log import say
from trainer_infra.in_pod.checkpoints.ranks import find_ranks
from trainer_infra.in_pod.checkpoints.session import CheckpointSession
from trainer_infra.in_pod.checkpoints.snapshot import ProgramFormat


class Checkpointer:
    """Saves the state of a training when it is due and when the program is told to end, and restores it.

    What `checkpoint=Checkpoint(...)` of the TrainJob says decides where and when. In a program that no such
    TrainJob started, nothing is saved, restored or caught.

    All processes of a framework's group call the same methods with the same steps, in the thread that trains.
    """

    def __init__(self) -> None:
        self._arrangement = read_arrangement()
        self._session: CheckpointSession | None = None
        self._is_called = False
        if self._arrangement is not None and not termination.listen():
            say(
                "it was not made in the main thread, so that nothing is saved when the run is to end"
            )

    def restore(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state of the newest whole checkpoint, or what was given; ends the program with 143 if it was told to.

        Modules, optimizers and tensors of torch, and what else has `load_state_dict`, are changed themselves. What
        is divided among processes, and modules with their optimizers, are those of all; other values, and the
        generators of random numbers of Python, numpy and torch, which are saved too, are each process's own.

        Args:
            state: what the program begins with, by name: modules and optimizers of torch, tensors, arrays
                of JAX and numpy, models of XGBoost, and whatever can be pickled.

        Raises:
            OSError: The place cannot be written or read.
            ValueError: A checkpoint is of another model; or the one to resume from is not there.
            TypeError: A value cannot be pickled.
            SharedError: Another run writes to the same place.
            OtherProcessError: One of these in another process.
        """
        if self._arrangement is None:
            return dict(state)
        ranks = find_ranks()
        self._session = CheckpointSession(self._arrangement, ranks, ProgramFormat(state, ranks))
        return dict(self._session.restore(state))

    def step(self, step: int, state: Mapping[str, Any]) -> None:
        """Say that a step is done; saves when it is due, ends the program with 143 when it was told to end.

        Call it in an evaluation too, with the number of the last step: nothing is saved twice.

        Args:
            step: steps that are done in all, those before the checkpoint included.
            state: as `restore` takes it, after that step.

        Raises:
            SharedError: Another run has begun to write to the same place.
            OtherProcessError: The same in another process; or one has ended.
        """
        if self._arrangement is None:
            return
        if self._session is None:
            raise RuntimeError("Checkpointer.step was called before Checkpointer.restore")
        step = int(step)
        if not self._is_called:
            self._is_called, caller = True, sys._getframe(1)  # noqa: SLF001  Python has no other
            self._session.beats.called_from(caller.f_code.co_filename, caller.f_lineno)
        must_save, is_last = self._session.must_save(step)
        if must_save:
            self._session.save(step, state)
        if is_last:
            self._session.end()
