"""`activeDeadlineSeconds` of a Job: how long it may be active.

Called by decide.py, which also wakes up for it. The clock starts with the first
pod of an attempt, so a resume starts it again, as the Job controller does.
"""

from datetime import datetime, timedelta

from trainer_infra import names
from trainer_infra.local.jobset.job import JobFailure, ObservedJob


def deadline_of(job: ObservedJob) -> datetime | None:
    """When the Job must have finished; None without a deadline or before it has started."""
    seconds = job.replicated.spec.get("activeDeadlineSeconds")
    started = [pod.started for pod in job.current]
    if seconds is None or not started:
        return None
    return min(started) + timedelta(seconds=seconds)


def deadline_failure(job: ObservedJob, now: datetime) -> JobFailure | None:
    """The failure of a Job that was active for too long; None otherwise."""
    at = deadline_of(job)
    if at is None or now < at:
        return None
    return JobFailure(*names.JOB_DEADLINE, at=at, pod=None)
