"""Lightning: a layer with dropout, on shuffled rows, for some epochs of ten batches.

Argument: how many epochs.
"""

# mypy: disable-error-code="import-not-found"

import os
import sys
from typing import Any

import disturb
import lightning.pytorch as lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from trainer_infra.callbacks import LightningCheckpointCallback


class Line(lightning.LightningModule):  # type: ignore[misc]  # Lightning is not there for mypy
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))

    def training_step(self, batch: Any, _index: int) -> Any:
        return ((self.layers(batch[0]) - batch[1]) ** 2).mean()

    def validation_step(self, batch: Any, _index: int) -> None:
        self.log("val_loss", ((self.layers(batch[0]) - batch[1]) ** 2).mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=0.01)


class Done(lightning.Callback):  # type: ignore[misc]  # the same
    """Says each step."""

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """Say it."""
        disturb.done(trainer.global_step, trainer.global_rank, trainer.world_size)

    def on_validation_batch_end(self, trainer: Any, *_: Any) -> None:
        """End it in a validation, by a step that is none."""
        disturb.done(-trainer.global_step, trainer.global_rank, trainer.world_size)


def train(epochs: int) -> None:
    """Train, from a checkpoint where there is one."""
    torch.set_num_threads(1)
    lightning.seed_everything(0)
    module = Line()
    made = torch.Generator().manual_seed(0)
    rows = TensorDataset(torch.randn(80, 4, generator=made), torch.randn(80, 1, generator=made))
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    saving = LightningCheckpointCallback()
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        devices=ranks,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[saving, Done()],
    )
    if trainer.is_global_zero:
        begun = (saving.resume_from or "-0/").rpartition("/")[0].rpartition("-")[2]
        disturb.say("begins", begun)
    loader = DataLoader(rows, batch_size=8 // ranks, shuffle=True)
    trainer.fit(
        module, loader, DataLoader(rows, batch_size=20 // ranks), ckpt_path=saving.resume_from
    )
    if trainer.is_global_zero:
        found = disturb.digest(each.detach().numpy() for each in module.parameters())
        disturb.say("ends", trainer.global_step, found)


if __name__ == "__main__":
    train(int(sys.argv[1]))
