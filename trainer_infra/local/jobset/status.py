"""Status of a JobSet: its conditions, and how many of its Jobs are in which state (`replicatedJobsStatus`).

Rules of JobSet v0.12: `lastTransitionTime` moves with `status` only; a condition that would be new
and False is not added; one of the two startup conditions going True turns the other False.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.local.jobset.job import ObservedJob
from trainer_infra.local.jobset.replicated_job import ReplicatedJob

_EXCLUSIVE = {
    names.JOBSET_STARTUP_IN_PROGRESS: names.JOBSET_STARTUP_COMPLETED,
    names.JOBSET_STARTUP_COMPLETED: names.JOBSET_STARTUP_IN_PROGRESS,
}


@dataclass(frozen=True, slots=True)
class JobCounts:
    """An entry of replicatedJobsStatus: the Jobs of one replicated job; one stands in several counts or in none."""

    name: str
    ready: int = 0
    """Unfinished Jobs with as many ready or succeeded pods as may run at a time."""
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    """Unfinished Jobs of which a pod runs."""
    suspended: int = 0

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
        ready=sum(
            sum(pod.ready for pod in job.running) + len(job.succeeded) >= replicated.width
            for job in unfinished
        ),
        succeeded=sum(job.complete for job in own),
        failed=sum(job.failure is not None for job in own),
        active=sum(bool(job.running) for job in unfinished),
    )


def without_pods(counts: JobCounts, suspended: int = 0) -> JobCounts:
    """The counts when no pod is to run: Jobs that are not finished are gone, or suspended."""
    return replace(counts, ready=0, active=0, suspended=suspended)


def put_condition(current: Conditions, new: JSONObject) -> Conditions:
    """The conditions with `new` among them, in the order in which their types appeared."""
    if new["status"] == "True":
        excluded = _EXCLUSIVE.get(new["type"])
        current = [
            {**old, "status": "False"} if old["type"] == excluded else old for old in current
        ]
    elif conditions.find_condition(current, new["type"]) is None:
        return current
    return conditions.with_condition(current, new)
