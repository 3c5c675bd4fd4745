"""Rules of admission: what the API server's own validation of pods and Jobs refuses.

JobSet and Trainer take a pod template nearly as it is written; the API server refuses its pods when
they are made, long after the job was taken. Each rule is a part of `k8s.io/kubernetes`
`pkg/apis/core/validation` and `pkg/apis/batch/validation`, of v1.34; what later versions take is no
finding. tests/apiserver/test_pod_validation.py holds the rules against a real API server.
"""

from typing import Final

from trainer_infra.rules.admission import (
    affinity,
    container_ports,
    containers,
    env_sources,
    field_types,
    job_counts,
    job_policies,
    job_restart_policy,
    label_syntax,
    pod_fields,
    probes,
    quantities,
    security_values,
    tolerations,
    topology_spread,
    volume_mounts,
    volume_sources,
)
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    field_types.RULE,
    label_syntax.RULE,
    containers.RULE,
    container_ports.RULE,
    env_sources.RULE,
    volume_sources.RULE,
    volume_mounts.RULE,
    quantities.RULE,
    probes.RULE,
    security_values.RULE,
    pod_fields.RULE,
    affinity.RULE,
    tolerations.RULE,
    topology_spread.RULE,
    job_restart_policy.RULE,
    job_counts.RULE,
    job_policies.RULE,
)
"""In the order in which they are applied and listed."""
