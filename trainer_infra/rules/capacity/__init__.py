"""Rules of capacity and cost: how much may be asked for, and for how long."""

from typing import Final

from trainer_infra.rules.capacity import (
    cost,
    endless,
    helper_gpus,
    idle_gpus,
    job_end,
    namespace_quota,
    requests,
    training_nodes,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    requests.CPU_MEMORY_SET,
    requests.GPU_LIMITS,
    requests.GPU_FITS_MACHINE,
    namespace_quota.RULE,
    training_nodes.NODES_LIMIT,
    training_nodes.PROCESSES_PER_GPU,
    training_nodes.SHARED_MEMORY,
    job_end.DEADLINE,
    job_end.TTL,
    job_end.RESTARTS_BOUNDED,
    idle_gpus.RULE,
    cost.GPU_HOURS,
    cost.PRICE,
    endless.ENDLESS_GPUS,
    endless.MANY_ENDLESS_GPUS,
    helper_gpus.RULE,
    requests.CLAIMS_KEPT,
)
"""In the order in which they are applied and listed."""
