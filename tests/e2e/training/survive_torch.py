"""torch: two layers with dropout, in one process, by DDP or by FSDP2 (gloo, on CPU).

Arguments: `alone`, `ddp` or `fsdp2`, how many steps, and perhaps how wide.
"""

# mypy: disable-error-code="import-not-found"

import os
import sys
from typing import Any

import disturb
import torch
from torch import distributed, nn

from trainer_infra.checkpoint import Checkpointer

ROWS = 12
"""Of each step, divided among the processes."""


def train(how: str, steps: int, width: int = 32) -> None:
    """Train, from a checkpoint where there is one."""
    torch.set_num_threads(1)
    rank, ranks = 0, 1
    if how != "alone":
        distributed.init_process_group("gloo")
        rank, ranks = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(0)
    layers = nn.Linear(16, width), nn.Dropout(0.1), nn.ReLU(), nn.Linear(width, 3)
    network = shared(how, nn.Sequential(*layers))
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    torch.manual_seed(rank)
    parts = {"network": network, "optimizer": optimizer, "scheduler": scheduler}
    checkpointer = Checkpointer()
    state = checkpointer.restore({**parts, "step": 0})
    begun, found, loss = state["step"], weights(network), torch.zeros(())
    if rank == 0:
        disturb.say("begins", begun, found)
    for step in range(begun, steps):
        loss = one_step(network, optimizer, step, rank, ranks)
        scheduler.step()
        checkpointer.step(step + 1, {**parts, "step": step + 1})
        disturb.done(step + 1, rank, ranks)
    found = weights(network)
    if rank == 0:
        disturb.say("ends", steps, found, float(loss))
    if how != "alone":
        distributed.destroy_process_group()


def shared(how: str, network: Any) -> Any:
    """The network, in the hands of all processes."""
    if how == "ddp":
        return nn.parallel.DistributedDataParallel(network)
    if how == "fsdp2":
        from torch.distributed.fsdp import fully_shard  # noqa: PLC0415  only here

        mesh = distributed.init_device_mesh("cpu", (distributed.get_world_size(),))
        fully_shard(network[0], mesh=mesh)
        fully_shard(network, mesh=mesh)
    return network


def one_step(network: Any, optimizer: Any, step: int, rank: int, ranks: int) -> Any:
    """Train on the rows of a step."""
    made = torch.Generator().manual_seed(step)
    rows = torch.randn(ROWS, 16, generator=made)[rank::ranks]
    labels = torch.randint(0, 3, (ROWS,), generator=made)[rank::ranks]
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(network(rows), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def weights(network: Any) -> str:
    """The weights, bit for bit."""
    whole = (
        each.full_tensor() if hasattr(each, "full_tensor") else each
        for each in network.parameters()
    )
    return str(disturb.digest(each.detach().numpy() for each in whole))


if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    train(sys.argv[1], *map(int, sys.argv[2:]))
