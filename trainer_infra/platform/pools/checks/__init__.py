"""What cannot work of a declared pool, said before anything is made: one file per part of it."""

from typing import Final

from trainer_infra.errors import InvalidInput
from trainer_infra.platform.pools.checks import (
    backend_block,
    cloud_pool,
    fabric,
    machine,
    node_count,
    node_marks,
    purchase,
    topology,
)
from trainer_infra.platform.pools.declaration import Declaration, read_declaration
from trainer_infra.platform.pools.pool_arguments import GpuNodePoolArgs

_CHECKS: Final = (
    backend_block.problems_of_backend,
    machine.problems_of_machine,
    node_count.problems_of_count,
    purchase.problems_of_purchase,
    node_marks.problems_of_marks,
    topology.problems_of_topology,
    fabric.problems_of_fabric,
    cloud_pool.problems_of_cloud_pool,
)
"""In the order in which a reader fixes them."""


def judged_declaration(name: str, args: GpuNodePoolArgs) -> Declaration:
    """The declaration of a pool that can work.

    Args:
        name: of the pool.
        args: of the types that their annotations say.

    Raises:
        InvalidInput: It cannot; has every problem.
    """
    declared = read_declaration(name, args)
    if problems := [each for check in _CHECKS for each in check(declared)]:
        raise InvalidInput(problems)
    return declared
