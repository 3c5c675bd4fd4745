"""Checkpoints of transformers' Trainer and of those that are made of it, as TRL's: saved by the Trainer itself."""

# mypy: disable-error-code="import-not-found,misc"

from __future__ import annotations

import functools
from typing import Any

from transformers import TrainerCallback, trainer

from trainer_infra.in_pod.checkpoints.folder_state import open_session


class HuggingFaceCheckpointCallback(TrainerCallback):
    """Saves when it is due and when the program is told to end, as `checkpoint=Checkpoint(...)` arranged it.

    What the Trainer saves when its own arguments say so is kept in the same place. The model, the optimizer, the
    scheduler, the generators of random numbers and the place in the data are the Trainer's.

    ```python
    saving = HuggingFaceCheckpointCallback(trainer)
    trainer.train(resume_from_checkpoint=saving.resume_from)
    ```
    """

    def __init__(self, trainer: Any) -> None:
        if trainer.args.save_only_model:
            raise ValueError(
                "save_only_model=True saves nothing that a run could resume from; leave it out"
            )
        self._trainer = trainer
        self._session = open_session(trainer.args.output_dir)
        self._is_ours = self._is_last = self._is_training = False
        trainer.add_callback(self)

    @property
    def resume_from(self) -> str | None:
        """The folder to resume from; None where there is nothing."""
        return self._session.resume_from if self._session else None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """From here on there is something to save."""
        del args, state, control
        self._is_training = True

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Let the Trainer save what is due."""
        del args
        if self._session is None:
            return
        must_save, self._is_last = self._session.must_save(state.global_step)
        if must_save:
            self._is_ours, control.should_save = not control.should_save, True
        if self._is_last:
            # There is no time for it.
            control.should_evaluate = False
        if control.should_save:
            self._session.wait()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Wait for what the Trainer may remove when it saves."""
        del args, state
        if self._session and control.should_save:
            self._session.wait()

    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save and end in the midst of an evaluation."""
        del args, control
        if self._session is None:
            return
        self._is_last = self._session.must_save(state.global_step)[1]
        if self._is_last and not self._is_training:
            self._session.end()
        if self._is_last:
            self._is_ours = True
            self._trainer._save_checkpoint(self._trainer.model, trial=None)  # noqa: SLF001  it has no other
            self.on_save(self._trainer.args, state, None)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Copy what the Trainer has saved."""
        del args, control
        if self._session is None:
            return
        self._session.save(
            state.global_step, (self._session.folder_of(state.global_step), self._is_ours)
        )
        if self._is_last:
            self._session.end()
        self._is_ours = False


def save_every_trainer() -> None:
    """Give the callback to every Trainer that trains from now on, for programs that we do not write."""
    theirs = trainer.Trainer.train

    @functools.wraps(theirs)
    def train(self: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        known = self.callback_handler.callbacks
        if not any(isinstance(each, HuggingFaceCheckpointCallback) for each in known):
            found = HuggingFaceCheckpointCallback(self).resume_from
            resume_from_checkpoint = found or resume_from_checkpoint
        return theirs(self, resume_from_checkpoint, *args, **kwargs)

    trainer.Trainer.train = train
