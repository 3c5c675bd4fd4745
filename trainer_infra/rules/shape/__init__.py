"""Rules of shape: what runtimes and TrainJobs must have to work at all."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.shape import (
    coordinator,
    depends_on,
    framework_label,
    gang_policy,
    image_present,
    initializer_mount,
    job_replicas,
    jobset_forms,
    jobset_name,
    jobset_policies,
    own_exemption,
    pod_metadata,
    quoted_strings,
    renders,
    required_jobs,
    reserved_env,
    runtime_deprecated,
    runtime_exists,
    schema,
    side_containers,
    ssh_key_group,
    training_command,
    unique_name,
    volume_claims,
)

RULES: Final[tuple[AnyRule, ...]] = (
    schema.RULE,
    renders.RULE,
    runtime_exists.RULE,
    runtime_deprecated.RULE,
    framework_label.RULE,
    required_jobs.RULE,
    job_replicas.RULE,
    depends_on.RULE,
    initializer_mount.RULE,
    jobset_name.RULE,
    jobset_forms.RULE,
    jobset_policies.RULE,
    coordinator.RULE,
    volume_claims.RULE,
    reserved_env.RULE,
    training_command.RULE,
    ssh_key_group.RULE,
    gang_policy.RULE,
    quoted_strings.RULE,
    image_present.RULE,
    pod_metadata.RULE,
    side_containers.RULE,
    unique_name.RULE,
    own_exemption.RULE,
)
"""In the order in which they are applied and listed."""
