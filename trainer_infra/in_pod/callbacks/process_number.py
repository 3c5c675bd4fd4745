"""Which of a training's processes this one is, by the variables of launchers."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
    ("JOB_COMPLETION_INDEX", ""),
)
"""Number and count of processes: of torchrun, of Open MPI, of JAX, and the number of the pod alone. The first
that is set counts, for what starts several processes in a pod sets one that is before the pod's."""


def process_number(env: Mapping[str, str]) -> int:
    """The number of this process, from 0; 0 where no launcher says one.

    Raises:
        ValueError: What the launcher says is no number.
    """
    return next((int(env[number]) for number, _ in VARIABLES if env.get(number)), 0)


def process_count(env: Mapping[str, str]) -> int:
    """How many processes train; 1 where no launcher says it.

    Raises:
        ValueError: What the launcher says is no number.
    """
    for number, count in VARIABLES:
        if env.get(number):
            return int(env.get(count) or 1)
    return 1
