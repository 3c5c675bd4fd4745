"""Rules of the supply chain: what images may be run, what they download when they start, and what is built from elsewhere."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import (
    downloads,
    images,
    moving_sources,
    package_index,
    unpinned_code,
)

RULES: Final[tuple[AnyRule, ...]] = (
    images.IMAGE_NAME,
    images.IMAGE_DIGEST,
    images.IMAGE_REGISTRY,
    images.IMAGE_LATEST,
    downloads.RULE,
    unpinned_code.RULE,
    package_index.RULE,
    moving_sources.RULE,
)
"""In the order in which they are applied and listed."""
