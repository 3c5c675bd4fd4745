"""JAX: gradient descent with momentum on weights that all processes have parts of.

Argument: how many steps. With JAX_NUM_PROCESSES, one of several processes.
"""

# mypy: disable-error-code="import-not-found,untyped-decorator"

import os
import sys
from typing import Any

import disturb
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from trainer_infra.checkpoint import Checkpointer


def train(steps: int) -> None:
    """Train, from a checkpoint where there is one."""
    ranks = int(os.environ.get("JAX_NUM_PROCESSES", "1"))
    rank = int(os.environ.get("JAX_PROCESS_ID", "0"))
    if ranks > 1:
        jax.distributed.initialize(os.environ["JAX_COORDINATOR_ADDRESS"], ranks, rank)
    mesh = Mesh(jax.devices(), ("rows",))
    split, whole = (NamedSharding(mesh, PartitionSpec(*axis)) for axis in (("rows",), ()))
    weights = placed(np.random.default_rng(0).normal(size=(12, 4)).astype("float32"), split)
    speed = placed(np.zeros((12, 4), "float32"), split)
    key = jax.random.key(0)
    checkpointer = Checkpointer()
    state = checkpointer.restore({"weights": {"w": weights}, "speed": speed, "key": key, "step": 0})
    weights, speed, key, begun = state["weights"]["w"], state["speed"], state["key"], state["step"]
    found = digest(weights, whole)
    if rank == 0:
        disturb.say("begins", begun, found)
    for step in range(begun, steps):
        key, drawn = jax.random.split(key)
        weights, speed = one_step(weights, speed, jax.random.key_data(drawn))
        state = {"weights": {"w": weights}, "speed": speed, "key": key, "step": step + 1}
        checkpointer.step(step + 1, state)
        disturb.done(step + 1, rank, ranks)
    found = digest(weights, whole)
    if rank == 0:
        disturb.say("ends", steps, found)


def placed(array: Any, sharding: Any) -> Any:
    """An array, divided."""
    return jax.make_array_from_callback(array.shape, sharding, array.__getitem__)


@jax.jit
def one_step(weights: Any, speed: Any, drawn: Any) -> Any:
    """One step towards random numbers."""
    wanted = jax.random.normal(jax.random.wrap_key_data(drawn), weights.shape)
    gradient = jax.grad(lambda each: ((each - wanted) ** 2).mean())(weights)
    speed = 0.9 * speed - 0.1 * gradient
    return weights + speed, speed


def digest(weights: Any, whole: Any) -> str:
    """The weights, bit for bit."""
    everywhere = jax.jit(lambda each: each, out_shardings=whole)(weights)
    return str(disturb.digest([np.asarray(everywhere.addressable_data(0))]))


if __name__ == "__main__":
    train(int(sys.argv[1]))
