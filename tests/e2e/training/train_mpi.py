"""MPI: a rank on each node, which all add their gradients (mpi4py)."""

# mypy: disable-error-code="import-not-found"

from typing import Any

import digits
import numpy as np
import outcome
import softmax
from mpi4py import MPI


def train() -> None:
    """Train on this rank's rows."""
    world = MPI.COMM_WORLD

    def summed(value: Any) -> Any:
        total = np.empty_like(value)
        world.Allreduce(value, total, op=MPI.SUM)
        return total

    training, test = digits.load(world.rank, world.size)
    weights = softmax.trained(*training, summed=summed)
    outcome.judge(softmax.accuracy(weights, *test), world.size)


if __name__ == "__main__":
    train()
