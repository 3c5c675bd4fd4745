"""Rules of data: where it comes from, where results go, and how tokens travel."""

from typing import Final

from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = ()
"""In the order in which they are applied and listed."""
