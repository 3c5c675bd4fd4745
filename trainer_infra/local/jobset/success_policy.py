"""`successPolicy` of a JobSet: which Jobs must succeed for it to be completed.

Called by decide.py when no Job has failed. Rule: JobSet v0.12, KEP-135; not given means All.
"""

from collections.abc import Sequence

from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset.job import ObservedJob


def is_successful(spec: JSONObject, jobs: Sequence[ObservedJob]) -> bool:
    """Whether enough Jobs have succeeded; at least one must have."""
    policy = spec.get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or ()
    complete = [job.complete for job in jobs if not targets or job.replicated.name in targets]
    return any(complete) if policy.get("operator") == "Any" else any(complete) and all(complete)
