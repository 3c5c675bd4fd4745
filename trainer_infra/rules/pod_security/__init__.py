"""Rules of pod security: what pods may do to their node and their neighbours."""

from typing import Final

from trainer_infra.rules.pod_security import (
    capabilities_added,
    capabilities_dropped,
    default_service_account,
    host_namespaces,
    host_path,
    literal_secrets,
    privilege_escalation,
    privileged,
    read_only_root,
    run_as_non_root,
    seccomp,
    service_account_token,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    privileged.RULE,
    privilege_escalation.RULE,
    capabilities_added.RULE,
    capabilities_dropped.RULE,
    host_namespaces.RULE,
    host_path.RULE,
    run_as_non_root.RULE,
    seccomp.RULE,
    read_only_root.RULE,
    default_service_account.RULE,
    service_account_token.RULE,
    literal_secrets.RULE,
)
"""In the order in which they are applied and listed."""
