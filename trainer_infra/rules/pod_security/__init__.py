"""Rules of pod security: what pods may do to their node and their neighbours."""

from typing import Final

from trainer_infra.rules.pod_security import (
    app_armor,
    capabilities_added,
    capabilities_dropped,
    default_service_account,
    host_namespaces,
    host_path,
    host_ports,
    host_process,
    literal_secrets,
    privilege_escalation,
    privileged,
    probe_hosts,
    proc_mount,
    read_only_root,
    run_as_non_root,
    seccomp,
    seccomp_unconfined,
    selinux_options,
    service_account_token,
    sysctls,
    volume_types,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    privileged.RULE,
    privilege_escalation.RULE,
    capabilities_added.RULE,
    capabilities_dropped.RULE,
    host_namespaces.RULE,
    host_path.RULE,
    host_ports.RULE,
    host_process.RULE,
    probe_hosts.RULE,
    proc_mount.RULE,
    sysctls.RULE,
    app_armor.RULE,
    selinux_options.RULE,
    seccomp_unconfined.RULE,
    run_as_non_root.RULE,
    seccomp.RULE,
    volume_types.RULE,
    read_only_root.RULE,
    default_service_account.RULE,
    service_account_token.RULE,
    literal_secrets.RULE,
)
"""In the order in which they are applied and listed."""
