"""PyTorch: a loop of one's own over a DataLoader, in as many processes as a launcher starts."""

# mypy: disable-error-code="import-not-found"

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from trainer_infra.callbacks import TrainingLoop


def train() -> None:
    """Train for twenty steps."""
    loader = DataLoader(TensorDataset(torch.randn(160, 4), torch.randn(160, 1)), batch_size=8)
    layer = nn.Linear(4, 1)
    loop = TrainingLoop(len(loader))
    for values, wanted in loader:
        loop.step(len(values), loss=((layer(values) - wanted) ** 2).mean())
    loop.end(accuracy=0.5)


if __name__ == "__main__":
    train()
