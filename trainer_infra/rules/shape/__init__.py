"""Rules of shape: what runtimes and TrainJobs must have to work at all."""

from typing import Final

from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = ()
"""In the order in which they are applied and listed."""
