"""Which tries to start: the completion indexes of each Job that are due, up to `parallelism`.

Called by decide.py with the replicated jobs whose turn has come. Rules: the Job controller's for
Indexed Jobs (lowest index first), and `failurePolicy.restartStrategy` of JobSet: a Job starts again
when its own pods of the attempt before have ended, with BlockingRecreate when all of them have.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset import backoff_limit, backoff_limit_per_index
from trainer_infra.local.jobset.job import ObservedJob
from trainer_infra.local.jobset.pods import PodId, Start


def find_starts(
    spec: JSONObject, jobs: Sequence[ObservedJob], allowed: Collection[str], now: datetime
) -> tuple[Start, ...]:
    """The tries to start in Jobs of the replicated jobs `allowed`, in template order."""
    strategy = (spec.get("failurePolicy") or {}).get("restartStrategy")
    if strategy == "BlockingRecreate" and any(job.leftover for job in jobs):
        return ()
    return tuple(
        start
        for job in jobs
        if job.replicated.name in allowed and not job.finished and not job.leftover
        for start in _of_job(job, now)
    )


def _of_job(job: ObservedJob, now: datetime) -> Iterator[Start]:
    running = {pod.id.index for pod in job.running}
    done = job.succeeded | backoff_limit_per_index.failed_indexes(job) | running
    due = [index for index in range(job.replicated.completions) if index not in done]
    for index in due[: max(job.replicated.parallelism - len(running), 0)]:
        yield Start(
            id=PodId(job.replicated.name, job.replica, index),
            attempt=job.attempt,
            retry=sum(pod.id.index == index for pod in job.current),
            not_before=backoff_limit.not_before(job, index, now),
        )
