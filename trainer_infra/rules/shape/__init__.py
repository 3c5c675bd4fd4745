"""Rules of shape: what runtimes and TrainJobs must have to work at all."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.shape import (
    generated_names,
    jobset_names,
    jobset_policies,
    launch,
    objects,
    pod_contents,
    renders,
    replicated_jobs,
    runtime_reference,
    runtimes,
    schema,
)

RULES: Final[tuple[AnyRule, ...]] = (
    schema.SCHEMA,
    renders.RULE,
    runtime_reference.RUNTIME_EXISTS,
    runtime_reference.RUNTIME_DEPRECATED,
    runtimes.FRAMEWORK_LABEL,
    runtimes.REQUIRED_JOBS,
    runtimes.JOB_REPLICAS,
    replicated_jobs.DEPENDS_ON,
    pod_contents.INITIALIZER_MOUNT,
    jobset_names.JOBSET_NAME,
    jobset_policies.JOBSET_FORMS,
    jobset_policies.JOBSET_POLICIES,
    replicated_jobs.COORDINATOR,
    jobset_names.VOLUME_CLAIMS,
    launch.RESERVED_ENV,
    launch.TRAINING_COMMAND,
    launch.SSH_KEY_GROUP,
    runtimes.GANG_POLICY,
    schema.QUOTED_STRINGS,
    pod_contents.IMAGE_PRESENT,
    pod_contents.POD_METADATA,
    replicated_jobs.SIDE_CONTAINERS,
    generated_names.GENERATED_NAME,
    objects.UNIQUE_NAME,
    objects.OWN_EXEMPTION,
)
"""In the order in which they are applied and listed."""
