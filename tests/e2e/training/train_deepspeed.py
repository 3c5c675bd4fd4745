"""DeepSpeed: each process has a part of the optimizer's state and of the gradients (gloo, on CPU)."""

# mypy: disable-error-code="import-not-found"

from typing import Any

import deepspeed
import digits
import outcome
import torch
from torch import distributed, nn
from torch.nn.functional import cross_entropy


def train(config: dict[str, Any], steps: int = 60) -> None:
    """Train for so many passes over this process's rows."""
    torch.set_num_threads(1)
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    training, test = digits.load(rank, ranks)
    images, labels = map(torch.from_numpy, training)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    engine, *_ = deepspeed.initialize(model=network, config=config)
    assert engine.zero_optimization_stage() == config["zero_optimization"]["stage"]
    for _ in range(steps):
        engine.backward(cross_entropy(engine(images), labels))
        engine.step()
    with torch.no_grad():
        found = network(torch.from_numpy(test[0])).argmax(1).numpy()
    outcome.judge((found == test[1]).mean(), ranks)
