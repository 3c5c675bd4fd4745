"""A training whose saves are measured, in an image's Python with torch: see `checkpoint.py`. Prints one JSON object.

Arguments: how it saves, megabytes of its state, a folder; or `agreement`, and seconds of a step.
"""

# mypy: disable-error-code="import-not-found"

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from torch import distributed, nn
from torch.distributed import checkpoint

from trainer_infra.checkpoint import Checkpointer

STEPS: Final = 12
"""Before the save, and at least after it."""
WORK: Final = 0.05
"""Seconds of a step."""


class Ours:
    """Saves by `Checkpointer`."""

    def __init__(self, network: Any) -> None:
        self._network = network
        self._checkpointer = Checkpointer()
        self._checkpointer.restore({"network": network})
        self._place = Path(json.loads(os.environ["TRAINER_INFRA_CHECKPOINT"])["place"])

    def save(self) -> None:
        """Begin to."""
        self._checkpointer.step(STEPS, {"network": self._network})

    def is_whole(self) -> bool:
        """Whether it is."""
        return any(self._place.glob("step-*/whole.json"))


class Blocking:
    """Saves while the training waits."""

    def __init__(self, save: Callable[[], object]) -> None:
        self.save = save

    def is_whole(self) -> bool:
        """It is when it has returned."""
        return True


class Asynchronous:
    """Saves by torch's own asynchronous distributed checkpoint."""

    def __init__(self, network: Any, place: str) -> None:
        self._network = network
        self._place = place
        self._saving: Any = None

    def save(self) -> None:
        """Begin to."""
        state = {"network": self._network.state_dict()}
        self._saving = checkpoint.async_save(state, checkpoint_id=self._place)

    def is_whole(self) -> bool:
        """Whether it is."""
        return bool(self._saving.done())


def way(name: str, network: Any, place: str) -> Any:
    """What saves."""
    if name == "ours":
        return Ours(network)
    if name == "torch.save":
        return Blocking(lambda: torch.save(network.state_dict(), f"{place}/state.pt"))
    if name == "dcp.save":
        state = {"network": network.state_dict()}
        return Blocking(lambda: checkpoint.save(state, checkpoint_id=place))
    if name == "dcp.async_save":
        return Asynchronous(network, place)
    raise ValueError(name)


def worked(matrix: Any, network: Any, seconds: float = WORK) -> float:
    """One step, and the seconds that it took: as much work each time, in one thread."""
    began = time.perf_counter()
    for _ in range(max(1, round(seconds / _UNIT[0]))):
        torch.mm(matrix, matrix)
    with torch.no_grad():
        next(iter(network.parameters()))[:1].add_(1e-6)
    return time.perf_counter() - began


_UNIT = [1.0]


def measured(name: str, megabytes: int, place: str) -> dict[str, float]:
    """What one save costs a training."""
    count = max(1, megabytes // 10)
    network = nn.ParameterList(
        nn.Parameter(torch.rand(megabytes * 250_000 // count)) for _ in range(count)
    )
    matrix = torch.rand(256, 256)
    _UNIT[0] = statistics.median(_timed(lambda: torch.mm(matrix, matrix)) for _ in range(200))
    saves = way(name, network, place)
    step = statistics.median(worked(matrix, network) for _ in range(STEPS))
    began = time.perf_counter()
    saves.save()
    blocked = time.perf_counter() - began
    meanwhile = []
    while not saves.is_whole():
        meanwhile.append(worked(matrix, network))
    took = time.perf_counter() - began
    return {
        "step": step,
        "blocked": blocked,
        "until whole": took,
        "cost": blocked + sum(meanwhile) - step * len(meanwhile),
    }


def agreement(seconds: float, steps: int = 400) -> dict[str, float]:
    """What it costs two processes to ask at each step whether one was told to end."""
    distributed.init_process_group("gloo")
    network = nn.ParameterList([nn.Parameter(torch.rand(8))])
    matrix = torch.rand(256, 256)
    _UNIT[0] = statistics.median(_timed(lambda: torch.mm(matrix, matrix)) for _ in range(200))
    checkpointer = Checkpointer()
    checkpointer.restore({"network": network})
    work = asked = 0.0
    for step in range(1, steps + 1):
        work += worked(matrix, network, seconds)
        # Processes that train together end a step together: what they wait for is not the agreement.
        distributed.barrier()
        asked += _timed(partial(checkpointer.step, step, {"network": network}))
    return {"step": work / steps, "agreement": asked / steps}


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    if sys.argv[1] == "agreement":
        found = agreement(float(sys.argv[2]))
        if distributed.get_rank() == 0:
            print(json.dumps(found))
        distributed.destroy_process_group()
        return
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]), sys.argv[3])))


if __name__ == "__main__":
    main()
