"""PyTorch: DistributedDataParallel averages the gradients of the nodes (gloo, on CPU)."""

# mypy: disable-error-code="import-not-found"

import digits
import outcome
import torch
from torch import distributed, nn
from torch.nn.functional import cross_entropy


def train(steps: int = 60) -> None:
    """Train for so many passes over this process's rows."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    training, test = digits.load(rank, ranks)
    images, labels = map(torch.from_numpy, training)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    model = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        cross_entropy(model(images), labels).backward()
        optimizer.step()
    with torch.no_grad():
        found = network(torch.from_numpy(test[0])).argmax(1).numpy()
    distributed.destroy_process_group()
    outcome.judge((found == test[1]).mean(), ranks)
