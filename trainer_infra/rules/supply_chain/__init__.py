"""Rules of the supply chain: what images may be run."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import image_digest, image_latest, image_name, image_registry

RULES: Final[tuple[AnyRule, ...]] = (
    image_name.RULE,
    image_digest.RULE,
    image_registry.RULE,
    image_latest.RULE,
)
"""In the order in which they are applied and listed."""
