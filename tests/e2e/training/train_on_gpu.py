"""Functions that train a network on a GPU, by `mesh` and `shard` of Fsdp2 or by `config` of DeepSpeed."""

# mypy: disable-error-code="import-not-found"

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from trainer_infra.report import report

STEPS = 60


def fsdp2(mesh: Any, shard: Callable[[Any], Any]) -> None:
    """Train in bfloat16, with weights in the memory of the host."""
    assert mesh.device_type == "cuda"
    network = shard(layers())
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    losses = []
    for rows, labels in batches():
        optimizer.zero_grad()
        losses.append(cross_entropy(network(rows).float(), labels))
        losses[-1].backward()
        optimizer.step()
    report(progress=100, loss=losses[-1].item(), memory=torch.cuda.max_memory_allocated())


def deepspeed(config: dict[str, Any]) -> None:
    """Train with the optimizer's state and the parameters in the memory of the host."""
    import deepspeed  # noqa: PLC0415  only this trainer needs it

    engine, *_ = deepspeed.initialize(model=layers(), config=config)
    assert engine.device.type == "cuda"
    losses = []
    for rows, labels in batches():
        losses.append(cross_entropy(engine(rows.bfloat16()).float(), labels))
        engine.backward(losses[-1])
        engine.step()
    report(progress=100, loss=losses[-1].item(), memory=torch.cuda.max_memory_allocated())


def layers() -> Any:
    """A network of three layers."""
    torch.manual_seed(0)
    inner = (nn.Linear(64, 64), nn.ReLU()) * 2
    return nn.Sequential(*inner, nn.Linear(64, 10))


def batches() -> Iterator[tuple[Any, Any]]:
    """Rows whose label is the place of their largest number among the first ten."""
    numbers = torch.Generator(device="cuda").manual_seed(0)
    for _ in range(STEPS):
        rows = torch.randn(256, 64, device="cuda", generator=numbers)
        yield rows, rows[:, :10].argmax(1)
