"""Rules of capacity and cost: how much may be asked for, and for how long."""

from typing import Final

from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = ()
"""In the order in which they are applied and listed."""
