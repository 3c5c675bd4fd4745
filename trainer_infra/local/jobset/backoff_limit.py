"""`backoffLimit` and `backoffLimitPerIndex` of a Job, and how long a failed pod waits before it is tried again.

Rules of the Job controller: with `restartPolicy: Never` a Job fails at failure number limit + 1.
With `OnFailure` it adds up the restarts of the pods that have not succeeded and fails when the sum
reaches the limit, or 1 for a limit of 0: so a limit of 1 means no second try there. Two deviations:
a limit that is not set means 0, not 6, so that a mistake in a training function shows at once; and
waits are a tenth of the cluster's. Indexes that fail on their own (KEP-3850): the Job fails when more
than `maxFailedIndexes` have failed, or at the end when any has.
"""

from collections import Counter
from datetime import datetime, timedelta

from trainer_infra import names
from trainer_infra.local.jobset import job as jobs
from trainer_infra.local.jobset import pod_failure_policy
from trainer_infra.local.jobset.job import JobFailure, ObservedJob
from trainer_infra.local.jobset.pods import ObservedPod

FIRST_WAIT = timedelta(seconds=1)
"""Before the second try; a Job on a cluster waits 10 seconds."""
LONGEST_WAIT = timedelta(seconds=36)
"""A Job on a cluster waits 360 seconds at most."""


def backoff_failure(job: ObservedJob) -> JobFailure | None:
    """The failure of a Job whose pods failed too often; None otherwise."""
    limit = job.replicated.spec.get("backoffLimit")
    if limit is None and job.replicated.spec.get("backoffLimitPerIndex") is not None:
        return None
    counted = pod_failure_policy.counted_failures(job)
    allowed = int(limit or 0)
    if job.replicated.retries_in_place:
        # A resumed Job has new pods, and those start to count at 0.
        succeeded = job.succeeded
        counted = tuple(
            pod for pod in counted if pod.attempt == job.attempt and pod.id.index not in succeeded
        )
        allowed = max(allowed - 1, 0)
    if len(counted) <= allowed:
        return None
    return JobFailure(*names.BACKOFF_LIMIT, at=jobs.ended_at(counted[allowed]))


def not_before(job: ObservedJob, index: int, now: datetime) -> datetime:
    """The earliest time for the next try of a completion index: `now`, or the end of its wait.

    The wait doubles with each failure of the index since the JobSet was last restarted.
    """
    failed = tuple(pod for pod in job.failed if pod.id.index == index)
    if not failed:
        return now
    # 64 seconds are more than the longest wait, and the thousandth doubling fits no timedelta.
    wait = min(FIRST_WAIT * (1 << min(len(failed) - 1, 6)), LONGEST_WAIT)
    return max(now, jobs.ended_at(failed[-1]) + wait)


def failed_indexes(job: ObservedJob) -> frozenset[int]:
    """The completion indexes that are not tried again."""
    return frozenset(pod.id.index for pod in _last_failures(job))


def index_failure(job: ObservedJob) -> JobFailure | None:
    """The failure of a Job with too many failed indexes, or with nothing left but those."""
    last = _last_failures(job)
    most = job.replicated.spec.get("maxFailedIndexes")
    if most is not None and len(last) > most:
        return JobFailure(*names.MAX_FAILED_INDEXES, at=jobs.ended_at(last[int(most)]))
    if last and len(last) + len(job.succeeded) >= job.replicated.completions:
        return JobFailure(*names.FAILED_INDEXES, at=jobs.ended_at(last[-1]))
    return None


def _last_failures(job: ObservedJob) -> tuple[ObservedPod, ...]:
    """The try that failed each failed index, in the order in which they ended."""
    limit = job.replicated.spec.get("backoffLimitPerIndex")
    if limit is None:
        return ()
    failures: Counter[int] = Counter()
    last: dict[int, ObservedPod] = {}
    for pod in pod_failure_policy.counted_failures(job):
        failures[pod.id.index] += 1
        at_once = (
            pod_failure_policy.action_for(job.replicated, pod) == pod_failure_policy.FAIL_INDEX
        )
        if at_once or failures[pod.id.index] > limit:
            last.setdefault(pod.id.index, pod)
    return tuple(last.values())
