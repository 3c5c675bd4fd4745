"""Rules of pod security: what pods may do to their node and their neighbours."""

from typing import Final

from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = ()
"""In the order in which they are applied and listed."""
