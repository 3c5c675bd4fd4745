"""Policy rules: one file each, in the order in which they are applied and listed.

How to add one: its file in a group's folder, its line in the group's `RULES`, its examples in
`fixtures/`. `judge` applies them; docs/rules.md is made of them.
"""

from typing import Final

from trainer_infra.rules import (
    admission,
    capacity,
    data,
    pod_security,
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
    *tuning.RULES,
)
"""All rules."""
