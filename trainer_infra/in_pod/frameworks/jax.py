"""JAX: the processes of all nodes as one, and a mesh of their devices. Needs jax.

The variables are those of the runtime (reference behaviour 3.4).
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

REST = -1
"""Size of the axis that takes the devices which the others leave."""


@contextmanager
def prepared(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`mesh`, with the axes of the trainer: `settings` has `axes`, name to number of devices."""
    import jax  # noqa: PLC0415  only this framework has it

    processes = int(os.environ.get("JAX_NUM_PROCESSES", "1"))
    if processes > 1:
        address, number = os.environ["JAX_COORDINATOR_ADDRESS"], int(os.environ["JAX_PROCESS_ID"])
        jax.distributed.initialize(address, processes, number)
    try:
        axes = settings["axes"]
        sizes = whole_sizes(list(axes.values()), jax.device_count())
        ordered = jax.make_mesh(tuple(sizes), tuple(axes)).devices
        # The axes of make_mesh are explicit in some versions: XLA then divides nothing by itself.
        yield {"mesh": jax.sharding.Mesh(ordered, tuple(axes))}
    finally:
        if processes > 1:
            jax.distributed.shutdown()


def whole_sizes(sizes: list[int], devices: int) -> list[int]:
    """The sizes of a mesh that has all devices.

    Raises:
        ValueError: They do not multiply to the number of devices.
    """
    known = math.prod(size for size in sizes if size != REST)
    whole = [devices // known if size == REST else size for size in sizes]
    if math.prod(whole) != devices:
        raise ValueError(f"a mesh of {sizes} does not fit {devices} devices")
    return whole
