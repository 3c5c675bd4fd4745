"""Rules of the supply chain: what images may be run, and what is built from elsewhere."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import images, moving_sources

RULES: Final[tuple[AnyRule, ...]] = (
    images.IMAGE_NAME,
    images.IMAGE_DIGEST,
    images.IMAGE_REGISTRY,
    images.IMAGE_LATEST,
    moving_sources.RULE,
)
"""In the order in which they are applied and listed."""
