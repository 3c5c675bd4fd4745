"""FSDP2: each process has a part of every layer's weights (gloo, on CPU)."""

# mypy: disable-error-code="import-not-found"

from collections.abc import Callable
from typing import Any

import digits
import outcome
import torch
from torch import distributed, nn
from torch.nn.functional import cross_entropy


class Network(nn.Module):  # type: ignore[misc]  # torch is not there for mypy
    """Two layers in a list, which are sharded one by one, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 64)])
        self.head = nn.Linear(64, 10)

    def forward(self, rows: Any) -> Any:
        """Scores of the ten digits."""
        for layer in self.layers:
            rows = layer(rows).relu()
        return self.head(rows)


def train(mesh: Any, shard: Callable[[Any], Any], steps: int = 60) -> None:
    """Train for so many passes over this process's rows."""
    torch.set_num_threads(1)
    rank, ranks = distributed.get_rank(), mesh["data"].size()
    training, test = digits.load(rank, ranks)
    images, labels = map(torch.from_numpy, training)
    torch.manual_seed(0)
    network = shard(Network())
    weight = network.layers[0].weight
    assert weight.to_local().numel() * ranks == weight.numel()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(network(images), labels).backward()
        optimizer.step()
    with torch.no_grad():
        found = network(torch.from_numpy(test[0])).argmax(1).numpy()
    outcome.judge((found == test[1]).mean(), ranks)
