"""Rules of fine-tuning: models, methods and the memory that they need."""

from typing import Final

from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = ()
"""In the order in which they are applied and listed."""
