"""DeepSpeed: the engine averages the gradients, and each process updates its part of the weights."""

import deepspeed
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import TensorDataset, random_split

from trainer_infra.report import report


def train(config, epochs: int) -> None:
    """Train for so many passes over the rows, and report after each.

    Args:
        config: of the trainer, for `deepspeed.initialize`.
        epochs: passes over the rows.
    """
    seen, held_out = digits()
    network = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    # The loader gives each process its own rows.
    engine, _, loader, _ = deepspeed.initialize(model=network, training_data=seen, config=config)
    for epoch in range(epochs):
        loader.data_sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = cross_entropy(engine(images.to(engine.device)), labels.to(engine.device))
            engine.backward(loss)
            engine.step()
        report(100 * (epoch + 1) / epochs, loss=loss.item(), accuracy=accuracy(engine, held_out))


def digits():
    """Rows to train on, and rows that are held out: the same in every process."""
    images, labels = load_digits(return_X_y=True)
    rows = TensorDataset(torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels))
    return random_split(rows, [0.8, 0.2], torch.Generator().manual_seed(0))


@torch.no_grad()
def accuracy(engine, held_out):
    """The share of the held-out digits that the model tells right."""
    images, labels = held_out[:]
    return (engine(images.to(engine.device)).argmax(1).cpu() == labels).double().mean().item()
