"""Rules of data: where it comes from, where results go, and how tokens travel."""

from typing import Final

from trainer_infra.rules.data import (
    cache_permissions,
    claim_volumes,
    persistent_output,
    shared_claim,
    storage_scheme,
    token_reference,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    storage_scheme.RULE,
    token_reference.RULE,
    persistent_output.RULE,
    shared_claim.RULE,
    claim_volumes.RULE,
    cache_permissions.RULE,
)
"""In the order in which they are applied and listed."""
