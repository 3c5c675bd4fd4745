"""Policy rules, in the order in which they are applied and listed.

Each stands in the file of its family, below its check: `IMAGE_DIGEST` is the rule `image-digest`; a file of one
rule calls it `RULE`. How to add one: there, in its group's `RULES`, and its examples in `fixtures/`. `judge`
applies them; docs/rules.md is made of them.
"""

from typing import Final

from trainer_infra.rules import (
    admission,
    capacity,
    data,
    pod_security,
    recovery,
    scheduling,
    shape,
    supply_chain,
    tuning,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    *shape.RULES,
    *admission.RULES,
    *supply_chain.RULES,
    *pod_security.RULES,
    *capacity.RULES,
    *scheduling.RULES,
    *data.RULES,
    *recovery.RULES,
    *tuning.RULES,
)
"""All rules."""
