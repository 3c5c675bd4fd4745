"""Rules of schedulability: what can never be admitted, or never be placed."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.scheduling import (
    declared_pools,
    flavor_pools,
    gang_fits,
    job_queues,
    machine_choice,
    named_objects,
    quota_fits,
    resource_groups,
    topology,
    tpu_slices,
)

RULES: Final[tuple[AnyRule, ...]] = (
    named_objects.QUEUE_CHAIN,
    quota_fits.RULE,
    gang_fits.RULE,
    declared_pools.TAINTS_TOLERATED,
    topology.TOPOLOGY_FITS,
    job_queues.ONE_QUEUEING,
    declared_pools.PREEMPTIBLE_CHECKPOINTS,
    resource_groups.COVERED_RESOURCES_ORDER,
    resource_groups.QUEUE_LIMITS,
    resource_groups.RESOURCE_GROUPS,
    job_queues.QUEUE_LABELS,
    topology.TOPOLOGY_REQUEST,
    topology.TOPOLOGY_GROUPS,
    named_objects.PRIORITY_CLASS,
    named_objects.NAMESPACE_EXISTS,
    flavor_pools.RULE,
    machine_choice.CONTROL_PLANE,
    machine_choice.PINNED_NODES,
    machine_choice.TOLERATES_EVERYTHING,
    tpu_slices.RULE,
)
"""In the order in which they are applied and listed."""
