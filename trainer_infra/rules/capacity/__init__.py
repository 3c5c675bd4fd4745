"""Rules of capacity and cost: how much may be asked for, and for how long."""

from typing import Final

from trainer_infra.rules.capacity import (
    cpu_memory_set,
    deadline,
    gpu_fits_machine,
    gpu_hours,
    gpu_limits,
    gpu_quota,
    nodes_limit,
    price,
    processes_per_gpu,
    restarts_bounded,
    shared_memory,
    ttl,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    cpu_memory_set.RULE,
    gpu_limits.RULE,
    gpu_fits_machine.RULE,
    gpu_quota.RULE,
    nodes_limit.RULE,
    processes_per_gpu.RULE,
    shared_memory.RULE,
    deadline.RULE,
    ttl.RULE,
    restarts_bounded.RULE,
    gpu_hours.RULE,
    price.RULE,
)
"""In the order in which they are applied and listed."""
