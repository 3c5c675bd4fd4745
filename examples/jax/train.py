"""Data-parallel JAX: the rows are divided over the devices of all nodes, and XLA adds the gradients."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sklearn.datasets import load_digits

from trainer_infra.report import report

SEEN = 1440
"""Rows to train on, of 1797: a number that many numbers of devices divide."""


def train(mesh: Mesh, steps: int, rate: float) -> None:
    """Take so many steps over all rows, and report after each twentieth.

    Args:
        mesh: of the devices of all nodes, which the trainer has made.
        steps: how many.
        rate: how fast it learns.
    """
    images, labels = load_digits(return_X_y=True)
    images, order = (
        (images / 16).astype("float32"),
        np.random.default_rng(0).permutation(len(labels)),
    )
    mine = order[:SEEN][jax.process_index() :: jax.process_count()]
    divided = NamedSharding(mesh, PartitionSpec("data"))
    rows = jax.make_array_from_process_local_data(divided, (images[mine], labels[mine]))
    weights = {"matrix": np.zeros((64, 10), "float32"), "bias": np.zeros(10, "float32")}
    speed = jax.tree.map(np.zeros_like, weights)
    for number in range(1, steps + 1):
        weights, speed, loss = step(weights, speed, rows, rate)
        if number % 20 == 0:
            told = scores(jax.device_get(weights), images[order[SEEN:]]).argmax(1)
            accuracy = float((told == labels[order[SEEN:]]).mean())
            report(100 * number / steps, loss=float(loss), accuracy=accuracy)


def scores(weights, images):
    """Of the ten digits, for each image."""
    return images @ weights["matrix"] + weights["bias"]


@jax.jit
def step(weights, speed, rows, rate):
    """One step of gradient descent with momentum."""
    loss, gradients = jax.value_and_grad(mean_loss)(weights, *rows)
    speed = jax.tree.map(lambda old, gradient: 0.9 * old - rate * gradient, speed, gradients)
    return jax.tree.map(jnp.add, weights, speed), speed, loss


def mean_loss(weights, images, labels):
    """Over the rows of all nodes."""
    likely = jax.nn.log_softmax(scores(weights, images))
    return -jnp.take_along_axis(likely, labels[:, None], axis=1).mean()
