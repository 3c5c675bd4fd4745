"""Rules of pod security: what pods may do to their node, their neighbours and the cluster."""

from typing import Final

from trainer_infra.rules.pod_security import (
    capabilities,
    cluster_rights,
    literal_secrets,
    metadata_address,
    namespaces,
    node_access,
    open_servers,
    plain_http,
    remote_access,
    role_holders,
    security_context,
    service_accounts,
    volume_secrets,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    security_context.PRIVILEGED,
    security_context.PRIVILEGE_ESCALATION,
    capabilities.CAPABILITIES_ADDED,
    capabilities.CAPABILITIES_DROPPED,
    node_access.HOST_NAMESPACES,
    node_access.HOST_PATH,
    node_access.HOST_PORTS,
    node_access.HOST_PROCESS,
    node_access.PROBE_HOSTS,
    security_context.PROC_MOUNT,
    node_access.SYSCTLS,
    security_context.APP_ARMOR,
    security_context.SELINUX_OPTIONS,
    security_context.SECCOMP_UNCONFINED,
    security_context.RUN_AS_NON_ROOT,
    security_context.SECCOMP,
    node_access.VOLUME_TYPES,
    security_context.READ_ONLY_ROOT,
    service_accounts.DEFAULT_SERVICE_ACCOUNT,
    service_accounts.SERVICE_ACCOUNT_TOKEN,
    literal_secrets.RULE,
    remote_access.RULE,
    open_servers.RULE,
    metadata_address.RULE,
    plain_http.RULE,
    volume_secrets.RULE,
    node_access.ADMIN_ACCESS,
    namespaces.PROTECTED_NAMESPACE,
    namespaces.NAMESPACE_LEVEL,
    cluster_rights.ROLE_ESCALATION,
    cluster_rights.ROLE_RIGHTS,
    role_holders.ROLE_BINDING,
)
"""In the order in which they are applied and listed."""
