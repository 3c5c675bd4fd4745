"""spec.podGroupPolicy of a runtime: at most one gang scheduler.

The API documents the rule and neither the schema nor the reference checks it (Q10). Called by
`runtime_ref` for a TrainJob's runtime and for the admission of runtimes.
"""

from collections.abc import Iterable

from trainer_infra.api.runtime import Runtime
from trainer_infra.errors import Problem


def pod_group_policy_problems(runtime: Runtime) -> Iterable[Problem]:
    """Both policies at once."""
    policy = runtime.spec.pod_group_policy
    if policy is not None and policy.coscheduling is not None and policy.volcano is not None:
        yield Problem(
            "spec.podGroupPolicy",
            "must have only one of coscheduling and volcano",
            got=policy.to_wire(),
            fix="remove one of them: a pod has one scheduler",
            where=f"{runtime.kind} {runtime.metadata.name}",
        )
