"""Progress of transformers' Trainer and of those that are made of it, as TRL's."""

# mypy: disable-error-code="import-not-found,misc"

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from transformers import TrainerCallback, integrations, trainer

from trainer_infra.in_pod.callbacks.training_progress import TrainingProgress, harmless

THEIRS = "KubeflowCallback"
"""The callback that transformers adds itself where a TrainJob's server takes reports."""


class HuggingFaceCallback(TrainerCallback):
    """Reports each optimizer step, and what the Trainer logs: loss, learning rate, evaluations.

    Of several processes only the first of the world reports. transformers has a callback of its own, which
    posts every five seconds to the same server, where the last post replaces all of the one before: this
    one says what that one says, and makes it do nothing.
    """

    def __init__(self) -> None:
        self._progress = TrainingProgress()
        self._step = 0
        self._take_over()

    @harmless
    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Report that it begins, perhaps from a checkpoint."""
        del args, control
        self._step = state.global_step
        if state.is_world_process_zero:
            self._progress.begin(_share_done(state))

    @harmless
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Report an optimizer step."""
        del control
        if not state.is_world_process_zero:
            return
        size = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        samples = (state.global_step - self._step) * size
        self._step = state.global_step
        self._progress.advance(_share_done(state), samples, _place(state))

    @harmless
    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any
    ) -> None:
        """Report what the Trainer logs, evaluations among it."""
        del args, control
        if state.is_world_process_zero and logs:
            self._progress.tell({**_place(state), **logs})

    @harmless
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Report that it is over."""
        del args, control
        if state.is_world_process_zero:
            self._progress.end()

    @harmless
    def _take_over(self) -> None:
        """Make theirs do nothing, also one that a Trainer has already, or that `report_to` asks for."""
        theirs = getattr(integrations, THEIRS, None)
        for hook in [each for each in vars(theirs) if each.startswith("on_")] if theirs else ():
            setattr(theirs, hook, getattr(TrainerCallback, hook))


def report_every_trainer() -> None:
    """Give the callback to every Trainer that is made from now on, for programs that we do not write.

    Where a checkpoint was arranged, they also save and resume.
    """
    known = getattr(trainer, "DEFAULT_CALLBACKS", None)
    if known is not None and HuggingFaceCallback not in known:
        known.append(HuggingFaceCallback)
    if os.environ.get("TRAINER_INFRA_CHECKPOINT"):
        from trainer_infra.in_pod.callbacks import hugging_face_checkpoint  # noqa: PLC0415  only then

        hugging_face_checkpoint.save_every_trainer()


def _share_done(state: Any) -> float | None:
    return float(state.global_step / state.max_steps) if state.max_steps > 0 else None


def _place(state: Any) -> dict[str, Any]:
    epoch = {} if state.epoch is None else {"epoch": round(state.epoch, 4)}
    return {"step": state.global_step, **epoch}
