"""Which replicated jobs may start pods now: `startupPolicy` and `dependsOn`.

Rules: JobSet v0.12, KEP-104. Nothing that has started is held back again: its Jobs exist, so their
pods are retried whatever became of the jobs before it.
"""

from collections.abc import Mapping, Sequence

from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset.replicated_job import ReplicatedJob
from trainer_infra.local.jobset.status import JobCounts


def in_order(spec: JSONObject) -> bool:
    """Whether each replicated job waits until the one before it is ready."""
    return (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"


def waiting_jobs(
    replicated: Sequence[ReplicatedJob], counts: Mapping[str, JobCounts]
) -> str | None:
    """The first replicated job of which not every Job is ready or beyond; None at the end."""
    for job in replicated:
        if counts[job.name].started != job.replicas:
            return job.name
    return None


def is_reached(
    spec: JSONObject, replicated: Sequence[ReplicatedJob], counts: Mapping[str, JobCounts]
) -> frozenset[str]:
    """Names of the replicated jobs whose turn has come."""
    replicas = {job.name: job.replicas for job in replicated}
    met = [job.name for job in replicated if is_met(job, replicas, counts)]
    last = waiting_jobs(replicated, counts) if in_order(spec) else None
    if last is None:
        return frozenset(met)
    order = [job.name for job in replicated]
    return frozenset(met).intersection(order[: order.index(last) + 1])


def is_met(
    job: ReplicatedJob, replicas: Mapping[str, int], counts: Mapping[str, JobCounts]
) -> bool:
    """Whether all that `job` depends on has come far enough.

    `replicas` and `counts` are by name of the replicated job. A ready dependency may have finished
    since. Rule: JobSet v0.12, KEP-672.
    """
    return all(
        (counts[name].succeeded if wanted == "Complete" else counts[name].started) == replicas[name]
        for name, wanted in job.depends_on
    )
