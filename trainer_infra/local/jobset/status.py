"""`status.replicatedJobsStatus` of a JobSet: how many of its Jobs are in which state."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset.job import ObservedJob
from trainer_infra.local.jobset.replicated_job import ReplicatedJob


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
