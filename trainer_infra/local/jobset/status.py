"""Status of a JobSet: its conditions, and how many of its Jobs are in which state (`replicatedJobsStatus`).

Rules of JobSet v0.12: `lastTransitionTime` moves with `status` only; a condition that would be new
and False is not added; one of the two startup conditions going True turns the other False.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset.job import ObservedJob
from trainer_infra.local.jobset.replicated_job import ReplicatedJob

_EXCLUSIVE = {
    names.JOBSET_STARTUP_IN_PROGRESS: names.JOBSET_STARTUP_COMPLETED,
    names.JOBSET_STARTUP_COMPLETED: names.JOBSET_STARTUP_IN_PROGRESS,
}


@dataclass(frozen=True, slots=True)
class JobSetCondition:
    """One condition, in the fields of metav1.Condition."""

    type: str
    status: bool
    reason: str
    message: str
    since: datetime
    """`lastTransitionTime`."""

    def to_wire(self) -> JSONObject:
        """The condition as it stands in a status."""
        return {
            "type": self.type,
            "status": "True" if self.status else "False",
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": self.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


@dataclass(frozen=True, slots=True)
class JobCounts:
    """The Jobs of one replicated job, counted; a Job stands in several counts or in none."""

    name: str
    ready: int = 0
    """Unfinished Jobs with as many ready or succeeded pods as may run at a time."""
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    """Unfinished Jobs of which a pod runs."""
    suspended: int = 0

    def to_wire(self) -> JSONObject:
        """The entry of replicatedJobsStatus."""
        return asdict(self)

    @property
    def started(self) -> int:
        """How many Jobs are ready or beyond."""
        return self.ready + self.succeeded + self.failed


def count_jobs(replicated: ReplicatedJob, jobs: Iterable[ObservedJob]) -> JobCounts:
    """Count the Jobs of one replicated job."""
    own = [job for job in jobs if job.replicated.name == replicated.name]
    unfinished = [job for job in own if not job.finished]
    return JobCounts(
        name=replicated.name,
        ready=sum(_ready(job) for job in unfinished),
        succeeded=sum(job.complete for job in own),
        failed=sum(job.failure is not None for job in own),
        active=sum(bool(job.running) for job in unfinished),
    )


def _ready(job: ObservedJob) -> bool:
    ready = sum(pod.ready for pod in job.running)
    return ready + len(job.succeeded) >= job.replicated.width


def without_pods(counts: JobCounts, suspended: int = 0) -> JobCounts:
    """The counts when no pod is to run: Jobs that are not finished are gone, or suspended."""
    return replace(counts, ready=0, active=0, suspended=suspended)


def put_condition(
    conditions: tuple[JobSetCondition, ...], new: JobSetCondition
) -> tuple[JobSetCondition, ...]:
    """The conditions with `new` among them, in the order in which their types appeared."""
    if all(old.type != new.type for old in conditions):
        return (*_without_exclusive(conditions, new), new) if new.status else conditions
    return tuple(
        _updated(old, new) if old.type == new.type else old
        for old in _without_exclusive(conditions, new)
    )


def _updated(old: JobSetCondition, new: JobSetCondition) -> JobSetCondition:
    return new if old.status != new.status else replace(new, since=old.since)


def _without_exclusive(
    conditions: tuple[JobSetCondition, ...], new: JobSetCondition
) -> tuple[JobSetCondition, ...]:
    excluded = _EXCLUSIVE.get(new.type) if new.status else None
    return tuple(replace(old, status=False) if old.type == excluded else old for old in conditions)
