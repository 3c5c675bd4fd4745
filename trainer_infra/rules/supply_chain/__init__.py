"""Rules of the supply chain: what images may be run, and what code is downloaded when they start."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import downloads, images, package_index, unpinned_code

RULES: Final[tuple[AnyRule, ...]] = (
    images.IMAGE_NAME,
    images.IMAGE_DIGEST,
    images.IMAGE_REGISTRY,
    images.IMAGE_LATEST,
    downloads.RULE,
    unpinned_code.RULE,
    package_index.RULE,
)
"""In the order in which they are applied and listed."""
