"""Progress of Lightning's Trainer, under either of its names."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import functools
import math
import sys
from typing import Any

from trainer_infra.in_pod.callbacks.training_progress import TrainingProgress, batch_size, harmless


def callback_class() -> Any:
    """The class of callbacks of that Lightning which the program has imported, else of what there is."""
    if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
        from pytorch_lightning import Callback  # noqa: PLC0415  one of two packages

        return Callback
    try:
        from lightning.pytorch import Callback  # noqa: PLC0415  the same
    except ModuleNotFoundError:
        from pytorch_lightning import Callback  # noqa: PLC0415  the same
    return Callback


class LightningCallback(callback_class()):  # type: ignore[misc]  # one of two packages
    """Reports each training batch, and what the module logs; with it the first learning rate.

    Of several processes only the global first reports. Logged metrics are read once a second, and at the end
    of each epoch and validation, for a GPU has to be waited for to read them.
    """

    def __init__(self) -> None:
        self._progress = TrainingProgress()

    @harmless
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Report that it begins, perhaps from a checkpoint."""
        del pl_module
        if trainer.is_global_zero:
            self._progress.begin(_share_done(trainer, _epochs_done(trainer, 0)))

    @harmless
    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Report a batch."""
        del pl_module, outputs
        if not trainer.is_global_zero:
            return
        epochs = _epochs_done(trainer, batch_idx + 1)
        facts = {"step": trainer.global_step, "epoch": round(epochs, 4)}
        self._progress.advance(
            _share_done(trainer, epochs),
            batch_size(batch) * trainer.world_size,
            facts,
            functools.partial(_metrics, trainer),
        )

    @harmless
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Report what was logged of an epoch."""
        del pl_module
        self._tell(trainer)

    @harmless
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Report what was logged of a validation."""
        del pl_module
        if not trainer.sanity_checking:
            self._tell(trainer)

    @harmless
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Report that it is over."""
        del pl_module
        if trainer.is_global_zero:
            self._progress.end(_metrics(trainer))

    def _tell(self, trainer: Any) -> None:
        if trainer.is_global_zero:
            self._progress.tell(_metrics(trainer))


def _epochs_done(trainer: Any, batches: int) -> float:
    """Epochs that are done, with the part of this one; without it where its length is not known."""
    count = trainer.num_training_batches
    part = batches / count if count and math.isfinite(count) else 0.0
    return float(trainer.current_epoch + part)


def _share_done(trainer: Any, epochs: float) -> float | None:
    """The share of the whole by what ends it first: steps, or epochs; None where it has no end."""
    limits = ((trainer.global_step, trainer.max_steps), (epochs, trainer.max_epochs))
    shares = [float(done / most) for done, most in limits if most and most > 0]
    return min(1.0, max(shares)) if shares else None


def _metrics(trainer: Any) -> dict[str, Any]:
    found = dict(trainer.callback_metrics)
    for optimizer in trainer.optimizers[:1]:
        found.setdefault("learning_rate", optimizer.param_groups[0]["lr"])
    return found
