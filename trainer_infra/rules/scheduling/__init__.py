"""Rules of schedulability: what can never be admitted, or never be placed."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.scheduling import (
    covered_resources_order,
    flavor_pools,
    gang_fits,
    namespace_exists,
    one_queueing,
    preemptible_checkpoints,
    priority_class,
    queue_chain,
    queue_labels,
    queue_limits,
    quota_fits,
    resource_groups,
    taints_tolerated,
    topology_fits,
    topology_groups,
    topology_request,
)

RULES: Final[tuple[AnyRule, ...]] = (
    queue_chain.RULE,
    quota_fits.RULE,
    gang_fits.RULE,
    taints_tolerated.RULE,
    topology_fits.RULE,
    one_queueing.RULE,
    preemptible_checkpoints.RULE,
    covered_resources_order.RULE,
    queue_limits.RULE,
    resource_groups.RULE,
    queue_labels.RULE,
    topology_request.RULE,
    topology_groups.RULE,
    priority_class.RULE,
    namespace_exists.RULE,
    flavor_pools.RULE,
)
"""In the order in which they are applied and listed."""
