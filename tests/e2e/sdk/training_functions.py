"""What a user of the SDK trains: it sends the text of such a function, which imports what it needs.

Bash reads the text as it is in a document of its own, so there is no dollar, backquote or backslash.
"""

# mypy: disable-error-code="import-not-found, union-attr, arg-type"
# ruff: noqa: PLC0415, T201


def train_digits(steps: int, rate: float) -> None:
    """Softmax regression over the nodes' averaged gradients; each node has every other digit only."""
    import gzip
    import os
    from importlib.util import find_spec
    from pathlib import Path

    import numpy as np
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    file = Path(find_spec("sklearn").origin).parent / "datasets/data/digits.csv.gz"
    with gzip.open(file) as rows:
        table = np.loadtxt(rows, delimiter=",", dtype="float32")
    np.random.default_rng(1).shuffle(table)
    images, labels = torch.from_numpy(table[:, :-1] / 16), torch.from_numpy(table[:, -1]).long()
    mine = torch.nonzero(labels[360:] % ranks == rank).flatten() + 360
    weights = torch.zeros(64, 10, requires_grad=True)
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(images[mine] @ weights, labels[mine])
        (gradient,) = torch.autograd.grad(loss, weights)
        distributed.all_reduce(gradient)
        weights = (weights - rate * gradient / ranks).detach().requires_grad_()
    right = (images[:360] @ weights).argmax(1) == labels[:360]
    accuracy = right.float().mean().item()
    print(f"{os.environ['GREETING']} from rank {rank} of {ranks}")
    print(f"accuracy {accuracy:.3f}")
    assert accuracy > 0.9
    distributed.destroy_process_group()


def say_lines(lines: int, seconds: float) -> None:
    """Say so many lines, one after so many seconds each."""
    import time

    for number in range(lines):
        print(f"line {number}", flush=True)
        time.sleep(seconds)


def say_and_fail(code: int) -> None:
    """End with this code."""
    import sys

    print("about to fail", flush=True)
    sys.exit(code)


def say_environment(prefix: str) -> None:
    """Say the variables of this prefix."""
    import os

    for name in sorted(os.environ):
        if name.startswith(prefix):
            print(f"{name}={os.environ[name]}")


def say_rank() -> None:
    """Say what MPI says of this process."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    print(f"sum {world.allreduce(world.rank + 1)} on rank {world.rank} of {world.size}")


def report_progress(percent: int) -> None:
    """Report it by the SDK's own function, from inside a pod of the TrainJob."""
    from kubeflow.trainer import update_trainjob_status

    sent = update_trainjob_status(
        progress_percent=percent, estimated_remaining_seconds=7, metrics={"loss": 0.25, "step": 3}
    )
    again = update_trainjob_status(progress_percent=100)
    print(f"sent {sent}, once more {again}")
