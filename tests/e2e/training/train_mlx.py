"""MLX: a rank on each node, which all add their gradients by MPI, on CPU."""

# mypy: disable-error-code="import-not-found"

from typing import Any

import digits
import mlx.core as mx
import numpy as np
import outcome
from mlx import nn


def train(steps: int = 80) -> None:
    """Train for so many passes over this rank's rows."""
    world = mx.distributed.init(strict=True, backend="mpi")
    training, test = digits.load(world.rank(), world.size())
    images, labels = map(mx.array, training)
    rows = mx.distributed.all_sum(mx.array(float(len(labels))))

    def loss(weights: Any) -> Any:
        scores = images @ weights[0] + weights[1]
        return nn.losses.cross_entropy(scores, labels, reduction="sum") / rows

    weights, speed = ([mx.zeros((64, 10)), mx.zeros(10)] for _ in range(2))
    for _ in range(steps):
        gradients = map(mx.distributed.all_sum, mx.grad(loss)(weights))
        speed = [0.9 * old - 0.5 * each for old, each in zip(speed, gradients, strict=True)]
        weights = [old + change for old, change in zip(weights, speed, strict=True)]
        mx.eval(weights, speed)
    matrix, bias = map(np.array, weights)
    found = (test[0] @ matrix + bias).argmax(1)
    outcome.judge((found == test[1]).mean(), world.size())


if __name__ == "__main__":
    train()
