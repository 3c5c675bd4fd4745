"""JAX: the loss is a mean over the rows of all processes, so XLA adds their gradients."""

# mypy: disable-error-code="import-not-found,untyped-decorator"

import os
from typing import Any

import digits
import jax
import numpy as np
import outcome
from jax.sharding import Mesh, NamedSharding, PartitionSpec

ROWS = 680
"""Of each process, one of two: both must have as many."""


def train(steps: int = 80) -> None:
    """Train for so many passes over this process's rows."""
    rank, ranks = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
    jax.distributed.initialize(os.environ["JAX_COORDINATOR_ADDRESS"], ranks, rank)
    training, test = digits.load(rank, ranks)
    mesh = Mesh(jax.devices(), ("rows",))
    whole, split = (NamedSharding(mesh, PartitionSpec(*axis)) for axis in ((), ("rows",)))
    rows = jax.make_array_from_process_local_data(split, tuple(each[:ROWS] for each in training))
    zeros = np.zeros((64, 10), "float32"), np.zeros(10, "float32")
    weights, speed = jax.make_array_from_process_local_data(whole, (zeros, zeros))
    for _ in range(steps):
        weights, speed = step(weights, speed, rows)
    matrix, bias = (np.asarray(leaf.addressable_data(0)) for leaf in weights)
    found = (test[0] @ matrix + bias).argmax(1)
    outcome.judge((found == test[1]).mean(), jax.process_count())


@jax.jit
def step(weights: Any, speed: Any, rows: Any) -> Any:
    """One step of gradient descent with momentum."""
    gradients = jax.grad(loss)(weights, *rows)
    speed = jax.tree.map(lambda old, gradient: 0.9 * old - 0.5 * gradient, speed, gradients)
    return jax.tree.map(lambda old, change: old + change, weights, speed), speed


def loss(weights: Any, images: Any, labels: Any) -> Any:
    """Mean over all rows."""
    logs = jax.nn.log_softmax(images @ weights[0] + weights[1])
    return -logs[jax.numpy.arange(len(logs)), labels].mean()
