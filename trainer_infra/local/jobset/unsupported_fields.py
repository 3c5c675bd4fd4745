"""What of a JobSetSpec is not run on this machine: pure, for preview.

Called by `local.unsupported_fields`. The fields of the failure policy stand here
because JobSet v0.12 has them behind feature gates that are off, so that a cluster refuses them too.
"""

from collections.abc import Iterator

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset import replicated_job
from trainer_infra.local.jobset.failure_policy import FAIL, RESTART, RESTART_FREELY

_GATED = "is behind a feature gate of JobSet that is off by default"
_LOCAL = "is not supported on this machine"


def unsupported_fields(spec: JSONObject) -> tuple[Problem, ...]:
    """Every field of a JobSetSpec that would be run otherwise than on a cluster."""
    return (*_in_failure_policy(spec), *_in_jobs(spec))


def _in_failure_policy(spec: JSONObject) -> Iterator[Problem]:
    policy = spec.get("failurePolicy") or {}
    for index, rule in enumerate(policy.get("rules") or ()):
        if rule["action"] not in {FAIL, RESTART, RESTART_FREELY}:
            path = f"spec.failurePolicy.rules[{index}].action"
            yield Problem(path, _GATED, rule["action"], f"use {RESTART}")
    strategy = policy.get("restartStrategy", "Recreate")
    if strategy not in {"Recreate", "BlockingRecreate"}:
        path = "spec.failurePolicy.restartStrategy"
        yield Problem(path, _GATED, strategy, "use Recreate or BlockingRecreate")


def _in_jobs(spec: JSONObject) -> Iterator[Problem]:
    for index, job in enumerate(replicated_job.read_jobs(spec)):
        if job.spec.get("successPolicy"):
            path = f"spec.replicatedJobs[{index}].template.spec.successPolicy"
            got = job.spec["successPolicy"]
            yield Problem(path, _LOCAL, got, "use the JobSet's own successPolicy")
