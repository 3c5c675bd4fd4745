"""The pools that a program declares: rules judge its queues and jobs by them.

A GpuNodePool of the platform registers what it comes to as its output `pool`. Only stack policies see it:
outputs of a component come after its inputs were judged.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pulumi_policy import PolicyResource

from trainer_infra.crossguard.values import plain_value
from trainer_infra.rules.pool import Pool

GPU_NODE_POOL: Final = "trainer:index:GpuNodePool"
"""Type of the platform's component."""
POOL: Final = "pool"
"""Its output, in wire form."""


def declared_pools(resources: Iterable[PolicyResource]) -> Iterator[Pool]:
    """The pools among the resources of a stack, as far as they are known.

    Args:
        resources: as CrossGuard hands them over.
    """
    for each in resources:
        if each.resource_type != GPU_NODE_POOL:
            continue
        value: Any = plain_value(each.props).get(POOL)
        if isinstance(value, Mapping):
            yield Pool.model_validate(value)
