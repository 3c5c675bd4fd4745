"""torch: DistributedDataParallel (gloo, on CPU), the same for any number of processes, that saves its state."""

# mypy: disable-error-code="import-not-found"

import time
from pathlib import Path
from typing import Any

import torch
from torch import distributed, nn


def train(steps: int, gate: str = "", pause: float = 0.02) -> None:
    """Train so many steps; the last hundred once the file `go` is in the folder `gate`, where one is given."""
    from trainer_infra.checkpoint import Checkpointer  # noqa: PLC0415  it comes with the code

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    torch.manual_seed(0)
    layers = nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3)
    network = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    parts = {"network": network, "optimizer": optimizer}
    checkpointer = Checkpointer()
    state = checkpointer.restore({**parts, "step": 0, "counted": 0})
    say(time.time(), "begins at", state["step"], "with", distributed.get_world_size())
    for step in range(state["step"], steps):
        if gate and step == steps - 100:
            wait_for(f"{gate}/go", checkpointer, state)
        one_step(network, optimizer, step)
        say("has done", step + 1, "with", distributed.get_world_size())
        state = {**parts, "step": step + 1, "counted": state["counted"] + step}
        checkpointer.step(step + 1, state)
        time.sleep(pause)
    made = torch.Generator().manual_seed(steps)
    found = network(torch.randn(12, 16, generator=made)).square().mean()
    say("counted", state["counted"], "ends with", float(found.detach()))
    distributed.destroy_process_group()


def one_step(network: Any, optimizer: Any, step: int) -> None:
    """Train on the twelve rows of a step, which are as many for each of 1, 2, 3 and 4 processes."""
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    made = torch.Generator().manual_seed(step)
    rows = torch.randn(12, 16, generator=made)[rank::ranks]
    labels = torch.randint(0, 3, (12,), generator=made)[rank::ranks]
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(rows), labels).backward()
    optimizer.step()


def wait_for(file: str, checkpointer: Any, state: Any) -> None:
    """Wait as an evaluation does: all leave it together."""
    is_held = torch.tensor(1)
    while is_held:
        checkpointer.step(state["step"], state)
        time.sleep(0.1)
        is_held = torch.tensor(int(not Path(file).exists()))
        distributed.broadcast(is_held, 0)


def say(*words: object) -> None:
    """Say it to the test, once."""
    if distributed.get_rank() == 0:
        print(*words, flush=True)  # noqa: T201  read by the test
