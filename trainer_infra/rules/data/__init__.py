"""Rules of data: where it comes from, where results go, and how tokens travel."""

from typing import Final

from trainer_infra.rules.data import cache_permissions, claims, initializers, output
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    initializers.STORAGE_SCHEME,
    initializers.TOKEN_REFERENCE,
    output.PERSISTENT_OUTPUT,
    claims.SHARED_CLAIM,
    claims.CLAIM_VOLUMES,
    cache_permissions.RULE,
    initializers.HUB_ORGANIZATION,
)
"""In the order in which they are applied and listed."""
