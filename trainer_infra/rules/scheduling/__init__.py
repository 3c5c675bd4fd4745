"""Rules of schedulability: what can never be admitted, or never be placed."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.scheduling import (
    covered_resources_order,
    flavor_pools,
    gang_fits,
    one_queueing,
    preemptible_checkpoints,
    queue_chain,
    quota_fits,
    taints_tolerated,
    topology_fits,
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
    flavor_pools.RULE,
)
"""In the order in which they are applied and listed."""
