"""What every node of the quickstart runs with JAX: data-parallel training on real digits.

Each process holds its own rows of scikit-learn's digits and its own copy of a small network. The
loss is a mean over the batches of all processes, so XLA averages the gradients across them. Printed
once per process: the rows it saw, and at the end a digest of its parameters.
"""

import hashlib
import os
import time
from concurrent.futures import ThreadPoolExecutor


def train(epochs: int, batch: int = 64, rate: float = 0.1) -> None:
    """Train for `epochs` passes over this process's rows, reporting after each."""
    import jax
    import numpy as np
    from digits import load
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from trainer_infra.report import report

    rank, ranks = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
    # The processes find each other, which takes up to a second, while the data is read.
    meeting = ThreadPoolExecutor().submit(
        jax.distributed.initialize, os.environ["JAX_COORDINATOR_ADDRESS"], ranks, rank
    )
    (images, labels), test = load(rank, ranks)
    meeting.result()
    mesh = Mesh(jax.devices(), ("rows",))
    whole, split = (NamedSharding(mesh, PartitionSpec(*axis)) for axis in ((), ("rows",)))
    first = network(np.random.default_rng(0))
    still = {name: np.zeros_like(leaf) for name, leaf in first.items()}
    params, speed = jax.make_array_from_process_local_data(whole, (first, still))
    step, order = make_step(jax, rate), np.random.default_rng(rank)

    for epoch in range(1, epochs + 1):
        rows, losses = order.permutation(len(images)), []
        for start in range(0, len(rows), batch):
            some = rows[min(start, len(rows) - batch) :][:batch]
            local = {"images": images[some], "labels": labels[some]}
            shared = jax.make_array_from_process_local_data(split, local)
            params, speed, loss = step(params, speed, shared)
            losses.append(float(loss))
            if epoch == 1 and start == 0:
                print(f"rank {rank} first step at {time.time():.3f}", flush=True)
        mine = jax.tree.map(lambda leaf: np.asarray(leaf.addressable_data(0)), params)
        accuracy = float((scores(np, mine, test[0]).argmax(1) == test[1]).mean())
        report(
            100 * epoch / epochs, loss=round(float(np.mean(losses)), 4), accuracy=round(accuracy, 4)
        )

    digest = hashlib.sha256(b"".join(mine[name].tobytes() for name in sorted(mine))).hexdigest()
    print(f"rank {rank} accuracy {accuracy:.4f} parameters sha256:{digest}", flush=True)


def network(random):
    """The first parameters, equal on all processes: 64 pixels, 128 hidden units, 10 digits."""
    sizes = {"w1": (64, 128), "b1": (128,), "w2": (128, 10), "b2": (10,)}
    return {
        name: (random.standard_normal(size) * (0.1 if len(size) > 1 else 0)).astype("float32")
        for name, size in sizes.items()
    }


def scores(xp, params, images):
    """One row of ten scores per image; `xp` is numpy or jax.numpy."""
    hidden = xp.maximum(images @ params["w1"] + params["b1"], 0)
    return hidden @ params["w2"] + params["b2"]


def make_step(jax, rate):
    """One step of stochastic gradient descent with momentum, compiled."""

    def loss(params, batch):
        logs = jax.nn.log_softmax(scores(jax.numpy, params, batch["images"]))
        return -logs[jax.numpy.arange(len(logs)), batch["labels"]].mean()

    def step(params, speed, batch):
        value, gradients = jax.value_and_grad(loss)(params, batch)
        speed = jax.tree.map(lambda old, gradient: 0.9 * old - rate * gradient, speed, gradients)
        return jax.tree.map(lambda old, change: old + change, params, speed), speed, value

    return jax.jit(step)
