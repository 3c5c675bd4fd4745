"""Rules of the supply chain: what images may be run, and what code is downloaded when they start."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import downloads, images, package_index

RULES: Final[tuple[AnyRule, ...]] = (
    images.IMAGE_NAME,
    images.IMAGE_DIGEST,
    images.IMAGE_REGISTRY,
    images.IMAGE_LATEST,
    downloads.REMOTE_CODE,
    downloads.UNPINNED_CODE,
    package_index.PACKAGE_INDEX,
)
"""In the order in which they are applied and listed."""
