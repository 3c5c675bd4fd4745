"""Whether a Job has failed, and why: the fields of its spec that can fail it, in their order.

Called by decide.py for each Job. The order is the Job controller's.
"""

from datetime import datetime

from trainer_infra.local.jobset import (
    active_deadline_seconds,
    backoff_limit,
    backoff_limit_per_index,
    pod_failure_policy,
)
from trainer_infra.local.jobset.job import JobFailure, ObservedJob


def find_failure(job: ObservedJob, now: datetime, *, suspended: bool) -> JobFailure | None:
    """The failure of a Job; None when it has none. A suspended Job has no deadline."""
    if job.complete:
        return None
    return (
        pod_failure_policy.policy_failure(job)
        or backoff_limit.backoff_failure(job)
        or (None if suspended else active_deadline_seconds.deadline_failure(job, now))
        or backoff_limit_per_index.index_failure(job)
    )
