"""Softmax regression in numpy, for nodes without a framework; the caller adds over the ranks."""

# mypy: disable-error-code="import-not-found"

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any


def trained(
    images: Array,
    labels: Array,
    summed: Callable[[Array], Array],
    start: Array | None = None,
    steps: int = 80,
) -> Array:
    """Weights (65, 10) after gradient descent with momentum.

    Args:
        images: this rank's rows.
        labels: theirs.
        summed: adds an array over all ranks.
        start: weights to begin with, equal on all ranks; zero when not given.
        steps: passes over all rows.
    """
    inputs = _with_one(images)
    weights = np.zeros((inputs.shape[1], 10)) if start is None else start
    rows, speed = summed(np.array([float(len(inputs))])), np.zeros_like(weights)
    for _ in range(steps):
        wrong = _likely(inputs @ weights)
        wrong[np.arange(len(labels)), labels] -= 1
        speed = 0.9 * speed - 0.5 * summed(inputs.T @ wrong) / rows
        weights = weights + speed
    return weights


def accuracy(weights: Array, images: Array, labels: Array) -> float:
    """The share of the rows that are told right."""
    return float(((_with_one(images) @ weights).argmax(1) == labels).mean())


def _with_one(images: Array) -> Array:
    return np.hstack([images, np.ones((len(images), 1))])


def _likely(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)
