"""The processes that train together, and how they agree: by what their framework has for it."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Protocol

_MEETINGS = (
    ("WORLD_SIZE", "", "call torch.distributed.init_process_group()"),
    ("JAX_NUM_PROCESSES", "jax", "call jax.distributed.initialize()"),
    ("DMLC_NUM_WORKER", "xgboost", "enter xgboost.collective.CommunicatorContext"),
    ("OMPI_COMM_WORLD_SIZE", "", "import mpi4py.MPI"),
)
"""How many processes a launcher has started, the module whose they are, and how they find one another."""


class Ranks(Protocol):
    """Processes that call the same methods in the same order."""

    rank: int
    """The number of this process, from 0."""
    size: int
    """How many there are."""
    place: str
    """Folder of their checkpoints, for processes that know nothing of one another; else empty."""

    def most(self, *values: int) -> tuple[int, ...]:
        """Of each value, under 2^31, the largest of all processes. All wait for the last one."""


class OtherProcessError(RuntimeError):
    """Another process of the training cannot go on, and says why."""


def by_first(ranks: Ranks, call: Callable[[], int]) -> int:
    """What the first process found, in all of them; where it failed, none goes on.

    Raises:
        OtherProcessError: It failed, in the other ones.
    """
    error, found = None, 0
    if ranks.rank == 0:
        try:
            found = call()
        except Exception as raised:  # noqa: BLE001  the others wait for an answer
            error = raised
    has_failed, found = ranks.most(error is not None, found)
    if error is not None:
        raise error
    if has_failed:
        raise OtherProcessError("the first process of the training cannot go on, and says why")
    return found


def find_ranks() -> Ranks:
    """Those of the framework that this program has begun to use.

    Raises:
        RuntimeError: Its processes are several, and have not found one another yet.
    """
    torch, jax, xgboost = (sys.modules.get(name) for name in ("torch", "jax", "xgboost"))
    if (
        torch is not None
        and torch.distributed.is_available()
        and torch.distributed.is_initialized()
    ):
        return TorchRanks(torch.distributed)
    if jax is not None and _is_met(jax) and jax.process_count() > 1:
        return JaxRanks(jax)
    if xgboost is not None and xgboost.collective.is_distributed():
        return XGBoostRanks(xgboost.collective)
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.COMM_WORLD.Get_size() > 1:
        return MpiRanks(mpi)
    for variable, module, meeting in _MEETINGS:
        size = os.environ.get(variable, "1")
        if size != "1" and (not module or module in sys.modules):
            raise RuntimeError(
                f"this is one of {size} processes ({variable}), and they have not found one another: {meeting} "
                "before Checkpointer.restore"
            )
    return Alone()


def _is_met(jax: Any) -> bool:
    # Without having met, a count of processes would take all devices for a program that uses none of them.
    is_initialized = getattr(jax.distributed, "is_initialized", None)
    return is_initialized is None or bool(is_initialized())


class Alone:
    """One process, or one of several nodes that know nothing of one another: each has its own checkpoints."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        node = os.environ.get("JOB_COMPLETION_INDEX", "0")
        self.place = "" if node == "0" else f"node-{node}"

    def most(self, *values: int) -> tuple[int, ...]:
        """As in `Ranks`."""
        return tuple(map(int, values))


class TorchRanks:
    """Those of `torch.distributed`, in a group of their own on the processor: no device waits for it."""

    place = ""

    def __init__(self, distributed: Any) -> None:
        self._distributed = distributed
        self._group = distributed.new_group(backend="gloo")
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def most(self, *values: int) -> tuple[int, ...]:
        """As in `Ranks`.

        Raises:
            OtherProcessError: A process has ended, or has not come for half an hour.
        """
        import torch  # noqa: PLC0415  it is there

        found = torch.tensor(values, dtype=torch.int64)
        try:
            self._distributed.all_reduce(found, self._distributed.ReduceOp.MAX, group=self._group)
        except RuntimeError as error:
            raise OtherProcessError(
                "a process of the training has ended, or does not call the Checkpointer where this one does"
            ) from error
        return tuple(found.tolist())

    def gathered(self, value: Any) -> list[Any]:
        """In the first process the values of all; in the others an empty list."""
        found = [None] * self.size if self.rank == 0 else None
        self._distributed.gather_object(value, found, dst=0, group=self._group)
        return found or []

    def scattered(self, values: list[Any]) -> Any:
        """The value of this process, of those that the first one has."""
        found = [None]
        self._distributed.scatter_object_list(found, values or None, src=0, group=self._group)
        return found[0]


class JaxRanks:
    """The processes of JAX."""

    place = ""

    def __init__(self, jax: Any) -> None:
        self.rank, self.size = jax.process_index(), jax.process_count()

    def most(self, *values: int) -> tuple[int, ...]:
        """As in `Ranks`."""
        import numpy as np  # noqa: PLC0415  JAX has it
        from jax.experimental import multihost_utils  # noqa: PLC0415  the same

        every = multihost_utils.process_allgather(np.asarray(values, np.int32))
        return tuple(np.asarray(every).reshape(self.size, -1).max(0).tolist())


class XGBoostRanks:
    """The workers of an XGBoost tracker."""

    place = ""

    def __init__(self, collective: Any) -> None:
        self._collective = collective
        self.rank, self.size = collective.get_rank(), collective.get_world_size()

    def most(self, *values: int) -> tuple[int, ...]:
        """As in `Ranks`."""
        import numpy as np  # noqa: PLC0415  XGBoost has it

        mine = np.asarray(values, np.int64)
        return tuple(self._collective.allreduce(mine, self._collective.Op.MAX).tolist())


class MpiRanks:
    """The processes of an MPI program in Python."""

    place = ""

    def __init__(self, mpi: Any) -> None:
        self._mpi = mpi
        self.rank, self.size = mpi.COMM_WORLD.Get_rank(), mpi.COMM_WORLD.Get_size()

    def most(self, *values: int) -> tuple[int, ...]:
        """As in `Ranks`."""
        return tuple(self._mpi.COMM_WORLD.allreduce(int(each), self._mpi.MAX) for each in values)
