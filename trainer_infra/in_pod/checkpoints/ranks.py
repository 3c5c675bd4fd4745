"""The processes that train together, and how they agree: by what their framework has for it."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import os
import sys
from typing import Any, Protocol


class Ranks(Protocol):
    """Processes that call the same methods in the same order."""

    rank: int
    """The number of this process, from 0."""
    size: int
    """How many there are."""
    place: str
    """Folder of their checkpoints, for processes that know nothing of one another; else empty."""

    def most(self, *values: float) -> tuple[float, ...]:
        """Of each value the largest of all processes. All wait for the last one."""


def find_ranks() -> Ranks:
    """Those of the framework that this program has begun to use.

    Raises:
        RuntimeError: Its processes are several, and have not found one another yet.
    """
    torch, jax, xgboost = (sys.modules.get(name) for name in ("torch", "jax", "xgboost"))
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return TorchRanks(torch.distributed)
    if jax is not None and jax.process_count() > 1:
        return JaxRanks(jax)
    if xgboost is not None and xgboost.collective.is_distributed():
        return XGBoostRanks(xgboost.collective)
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.COMM_WORLD.Get_size() > 1:
        return MpiRanks(mpi)
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and torch is not None:
        raise RuntimeError(
            "the processes of torch have not found one another: call "
            "torch.distributed.init_process_group() before Checkpointer.restore"
        )
    return Alone()


class Alone:
    """One process, or one of several nodes that know nothing of one another: each has its own checkpoints."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        node = os.environ.get("JOB_COMPLETION_INDEX", "0")
        self.place = "" if node == "0" else f"node-{node}"

    def most(self, *values: float) -> tuple[float, ...]:
        """As in `Ranks`."""
        return values


class TorchRanks:
    """Those of `torch.distributed`, in a group of their own on the processor: no device waits for it."""

    place = ""

    def __init__(self, distributed: Any) -> None:
        self._distributed = distributed
        self._group = distributed.new_group(backend="gloo")
        # Saving goes on in a thread, while the training asks whether it was told to end.
        self.saving_group = distributed.new_group(backend="gloo")
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def most(self, *values: float) -> tuple[float, ...]:
        """As in `Ranks`."""
        import torch  # noqa: PLC0415  it is there

        found = torch.tensor(values, dtype=torch.float64)
        self._distributed.all_reduce(found, self._distributed.ReduceOp.MAX, group=self._group)
        return tuple(found.tolist())


class JaxRanks:
    """The processes of JAX."""

    place = ""

    def __init__(self, jax: Any) -> None:
        self.rank, self.size = jax.process_index(), jax.process_count()

    def most(self, *values: float) -> tuple[float, ...]:
        """As in `Ranks`."""
        import numpy  # noqa: PLC0415  JAX has it
        from jax.experimental import multihost_utils  # noqa: PLC0415  the same

        # As float32, which JAX makes of it anyway: flags and counts of steps under 16 million.
        every = multihost_utils.process_allgather(numpy.asarray(values, numpy.float32))
        return tuple(float(each) for each in numpy.asarray(every).reshape(self.size, -1).max(0))


class XGBoostRanks:
    """The workers of an XGBoost tracker."""

    place = ""

    def __init__(self, collective: Any) -> None:
        self._collective = collective
        self.rank, self.size = collective.get_rank(), collective.get_world_size()

    def most(self, *values: float) -> tuple[float, ...]:
        """As in `Ranks`."""
        import numpy  # noqa: PLC0415  XGBoost has it

        found = self._collective.allreduce(numpy.asarray(values, float), self._collective.Op.MAX)
        return tuple(float(each) for each in found)


class MpiRanks:
    """The processes of an MPI program in Python."""

    place = ""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self.rank, self.size = mpi.COMM_WORLD.Get_rank(), mpi.COMM_WORLD.Get_size()

    def most(self, *values: float) -> tuple[float, ...]:
        """As in `Ranks`."""
        return tuple(self._mpi.COMM_WORLD.allreduce(each, self._mpi.MAX) for each in values)
