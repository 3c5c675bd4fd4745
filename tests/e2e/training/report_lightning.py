"""Lightning: a linear layer on random numbers, validated after each of two epochs.

Argument: which of its two packages, else `lightning.pytorch`.
"""

# mypy: disable-error-code="import-not-found,misc"

import os
import sys
from importlib import import_module
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

lightning: Any = import_module((*sys.argv[1:], "lightning.pytorch")[0])
# The callback is that of the package which is imported.
LightningCallback: Any = import_module("trainer_infra.callbacks").LightningCallback


class Line(lightning.LightningModule):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def training_step(self, batch: Any, _index: int) -> Any:
        loss = ((self.layer(batch[0]) - batch[1]) ** 2).mean()
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch: Any, _index: int) -> None:
        self.log("val_loss", ((self.layer(batch[0]) - batch[1]) ** 2).mean())

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def train() -> None:
    """Train for two epochs of ten batches."""
    loader = DataLoader(TensorDataset(torch.randn(80, 4), torch.randn(80, 1)), batch_size=8)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=1,
        num_nodes=int(os.environ.get("WORLD_SIZE", "1")),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[LightningCallback()],
    )
    trainer.fit(Line(), loader, loader)


if __name__ == "__main__":
    train()
