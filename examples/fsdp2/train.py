"""FSDP2: each process holds a part of every layer, and gathers a layer while it computes with it."""

from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import distributed, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset, random_split

from trainer_infra.report import report
from trainer_infra.storage import output


class Network(nn.Module):
    """Blocks in a ModuleList, each of which `shard` divides by itself, and a head."""

    def __init__(self, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, rows):
        """Scores of the ten digits."""
        for block in self.blocks:
            rows = rows + block(rows).relu()
        return self.head(rows)


def train(mesh, shard, epochs: int, rate: float) -> None:
    """Train for so many passes over the rows, and report after each.

    Args:
        mesh: of all processes, which the trainer has made; its dimension `data` divides the rows.
        shard: divides a model among them.
        epochs: passes over the rows.
        rate: how fast it learns.
    """
    torch.manual_seed(0)
    seen, held_out = digits()
    data = mesh["data"]
    sampler = DistributedSampler(seen, data.size(), data.get_local_rank())
    loader = DataLoader(seen, batch_size=32, sampler=sampler)
    model = shard(Network().to(mesh.device_type))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            scores = model(images.to(mesh.device_type))
            loss = cross_entropy(scores, labels.to(mesh.device_type))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        progress = 100 * (epoch + 1) / epochs
        report(progress, loss=loss.item(), accuracy=accuracy(model, held_out, mesh.device_type))
    save(model)


def digits():
    """Rows to train on, and rows that are held out: the same in every process."""
    images, labels = load_digits(return_X_y=True)
    rows = TensorDataset(torch.tensor(images / 16, dtype=torch.float32), torch.tensor(labels))
    return random_split(rows, [0.8, 0.2], torch.Generator().manual_seed(0))


@torch.no_grad()
def accuracy(model, held_out, device):
    """The share of the held-out digits that the model tells right; every process must call it."""
    images, labels = held_out[:]
    return (model(images.to(device)).argmax(1).cpu() == labels).double().mean().item()


def save(model) -> None:
    """Gather the weights of all processes, and write them once."""
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=options)
    if distributed.get_rank() == 0:
        torch.save(weights, Path(output("model"), "digits.pt"))
