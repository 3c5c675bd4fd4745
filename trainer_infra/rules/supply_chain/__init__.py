"""Rules of the supply chain: what images may be run."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.supply_chain import images

RULES: Final[tuple[AnyRule, ...]] = (
    images.IMAGE_NAME,
    images.IMAGE_DIGEST,
    images.IMAGE_REGISTRY,
    images.IMAGE_LATEST,
)
"""In the order in which they are applied and listed."""
