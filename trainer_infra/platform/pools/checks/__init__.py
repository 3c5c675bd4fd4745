"""What cannot work of a declared pool, said before anything is made: a function for each part of it."""

from typing import Final

from trainer_infra.errors import InvalidInput
from trainer_infra.platform.pools.checks.backend import problems_of_backend, problems_of_cloud_pool
from trainer_infra.platform.pools.checks.machines import (
    problems_of_count,
    problems_of_fabric,
    problems_of_machine,
    problems_of_purchase,
)
from trainer_infra.platform.pools.checks.node_marks import problems_of_marks, problems_of_topology
from trainer_infra.platform.pools.declaration import Declaration, read_declaration
from trainer_infra.platform.pools.pool_arguments import GpuNodePoolArgs

_CHECKS: Final = (
    problems_of_backend,
    problems_of_machine,
    problems_of_count,
    problems_of_purchase,
    problems_of_marks,
    problems_of_topology,
    problems_of_fabric,
    problems_of_cloud_pool,
)
"""In the order in which a reader fixes them."""


def judged_declaration(name: str, args: GpuNodePoolArgs) -> Declaration:
    """The declaration of a pool that can work.

    Raises:
        InvalidInput: It cannot; has every problem.
    """
    declared = read_declaration(name, args)
    if problems := [each for check in _CHECKS for each in check(declared)]:
        raise InvalidInput(problems)
    return declared
