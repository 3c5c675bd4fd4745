"""torch: DistributedDataParallel (gloo, on CPU), the same for any number of processes, that saves its state."""

# mypy: disable-error-code="import-not-found"

import os
import time


def train(steps: int, gate: str = "", pause: float = 0.02) -> None:
    """Train so many steps; the last hundred once the file `go` is in the folder `gate`, where one is given."""
    import torch
    from torch import distributed, nn

    from trainer_infra.checkpoint import Checkpointer

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(0)
    layers = nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3)
    network = nn.parallel.DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    parts = {"network": network, "optimizer": optimizer}
    checkpointer = Checkpointer()
    state = checkpointer.restore({**parts, "step": 0, "counted": 0})
    counted, begun = state["counted"], state["step"]
    if rank == 0:
        print(time.time(), "begins at", begun, "with", ranks, flush=True)
    for step in range(begun, steps):
        is_held = torch.tensor(int(bool(gate) and step == steps - 100))
        while is_held:
            # As in an evaluation; all leave it together.
            checkpointer.step(step, {**parts, "step": step, "counted": counted})
            time.sleep(0.1)
            is_held = torch.tensor(int(not os.path.exists(f"{gate}/go")))
            distributed.broadcast(is_held, 0)
        made = torch.Generator().manual_seed(step)
        # Twelve rows are as many for each of 1, 2, 3 and 4 processes.
        rows = torch.randn(12, 16, generator=made)[rank::ranks]
        labels = torch.randint(0, 3, (12,), generator=made)[rank::ranks]
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(rows), labels).backward()
        optimizer.step()
        counted += step
        if rank == 0:
            print("has done", step + 1, "with", ranks, flush=True)
        state = {**parts, "step": step + 1, "counted": counted}
        checkpointer.step(step + 1, state)
        time.sleep(pause)
    made = torch.Generator().manual_seed(steps)
    found = network(torch.randn(12, 16, generator=made)).square().mean()
    if rank == 0:
        print("counted", counted, "ends with", float(found.detach()), flush=True)
    distributed.destroy_process_group()
