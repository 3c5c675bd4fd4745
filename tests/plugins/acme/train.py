"""Fits y = 3x + 2 on two nodes: each has half of the points, gradients are averaged each step."""

import os
import time
from multiprocessing.managers import BaseManager
from pathlib import Path
from threading import Barrier

rank, nodes = int(os.environ["ACME_RANK"]), int(os.environ["ACME_NODES"])
host, port = os.environ["ACME_ADDRESS"].split(":")
steps = int(Path(os.environ["ACME_STEPS"]).read_text())
gradients: dict[tuple[int, int], list[float]] = {}
barrier = Barrier(nodes)


class Manager(BaseManager):
    pass


if rank == 0:
    Manager.register("gradients", callable=lambda: gradients, exposed=["__setitem__", "get"])
    Manager.register("barrier", callable=lambda: barrier, exposed=["wait"])
    server = Manager((host, int(port)), b"acme")
    server.start()
else:
    Manager.register("gradients")
    Manager.register("barrier")


def connected() -> Manager:
    while True:
        manager = Manager((host, int(port)), b"acme")
        try:
            manager.connect()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return manager


manager = connected()
shared, meet = manager.gradients(), manager.barrier()  # type: ignore[attr-defined]  # registered above
points = [(x / 10, 3 * x / 10 + 2) for x in range(40)][rank::nodes]
slope, offset = 0.0, 0.0
for step in range(steps):
    errors = [(slope * x + offset - y, x) for x, y in points]
    own = [sum(e * x for e, x in errors) / len(points), sum(e for e, _ in errors) / len(points)]
    shared.__setitem__((step, rank), own)
    meet.wait()
    both = [shared.get((step, each)) for each in range(nodes)]
    slope -= 0.1 * sum(each[0] for each in both) / nodes
    offset -= 0.1 * sum(each[1] for each in both) / nodes
print(f"rank {rank} of {nodes}: slope {slope:.3f} offset {offset:.3f}", flush=True)
meet.wait()
