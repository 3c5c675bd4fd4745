"""`backoffLimitPerIndex` and `maxFailedIndexes` of a Job: indexes that fail on their own.

Rule: KEP-3850: the Job fails when more than `maxFailedIndexes` have failed, or at the end when any
has.
"""

from collections import Counter

from trainer_infra import names
from trainer_infra.local.jobset import job as jobs
from trainer_infra.local.jobset import pod_failure_policy
from trainer_infra.local.jobset.job import JobFailure, ObservedJob
from trainer_infra.local.jobset.pods import ObservedPod


def failed_indexes(job: ObservedJob) -> frozenset[int]:
    """The completion indexes that are not tried again."""
    return frozenset(pod.id.index for pod in _last_failures(job))


def index_failure(job: ObservedJob) -> JobFailure | None:
    """The failure of a Job with too many failed indexes, or with nothing left but those."""
    last = _last_failures(job)
    most = job.replicated.spec.get("maxFailedIndexes")
    if most is not None and len(last) > most:
        pod = last[int(most)]
        return JobFailure(*names.MAX_FAILED_INDEXES, at=jobs.ended_at(pod), pod=pod.id)
    if last and len(last) + len(job.succeeded) >= job.replicated.completions:
        return JobFailure(*names.FAILED_INDEXES, at=jobs.ended_at(last[-1]), pod=last[0].id)
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
