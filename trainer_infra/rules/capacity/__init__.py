"""Rules of capacity and cost: how much may be asked for, and for how long."""

from typing import Final

from trainer_infra.rules.capacity import cost, idle_gpus, job_end, requests, training_nodes
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    requests.CPU_MEMORY_SET,
    requests.GPU_LIMITS,
    requests.GPU_FITS_MACHINE,
    requests.GPU_QUOTA,
    training_nodes.NODES_LIMIT,
    training_nodes.PROCESSES_PER_GPU,
    training_nodes.SHARED_MEMORY,
    job_end.DEADLINE,
    job_end.TTL,
    job_end.RESTARTS_BOUNDED,
    idle_gpus.RULE,
    cost.GPU_HOURS,
    cost.PRICE,
)
"""In the order in which they are applied and listed."""
