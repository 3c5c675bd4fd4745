"""The labels of a JobSet's pods: those of JobSet v0.12 and of the Job controller.

Called by pods.py. JobSet writes its own ones as annotations too, so programs may read either
through the downward API.
"""

import hashlib
from collections.abc import Sequence

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset import replicated_job
from trainer_infra.local.jobset.replicated_job import ReplicatedJob
from trainer_infra.render import endpoints


def of_jobset(
    jobset: JSONObject, job: ReplicatedJob, replica: int, restarts: int
) -> dict[str, str]:
    """What JobSet writes on the pods of one Job, as labels and as annotations."""
    metadata = jobset["metadata"]
    every = replicated_job.read_jobs(jobset["spec"])
    group = [other for other in every if other.group == job.group]
    job_name = replicated_job.job_name(metadata["name"], job.name, replica)
    key = f"{metadata.get('namespace', 'default')}/{job_name}".encode()
    return {
        names.JOBSET_NAME_LABEL: metadata["name"],
        names.JOBSET_UID_LABEL: metadata.get("uid", ""),
        names.REPLICATED_JOB_LABEL: job.name,
        names.RESTART_ATTEMPT_LABEL: str(restarts),
        names.REPLICATED_JOB_REPLICAS_LABEL: str(job.replicas),
        names.GLOBAL_REPLICAS_LABEL: str(sum(other.replicas for other in every)),
        names.JOB_INDEX_LABEL: str(replica),
        names.JOB_KEY_LABEL: hashlib.sha1(key, usedforsecurity=False).hexdigest(),
        names.JOB_GLOBAL_INDEX_LABEL: str(_jobs_before(every, job) + replica),
        names.GROUP_NAME_LABEL: job.group,
        names.GROUP_REPLICAS_LABEL: str(sum(other.replicas for other in group)),
        names.JOB_GROUP_INDEX_LABEL: str(_jobs_before(group, job) + replica),
        **_coordinator(jobset),
    }


def _jobs_before(jobs: Sequence[ReplicatedJob], job: ReplicatedJob) -> int:
    return sum(other.replicas for other in jobs[: jobs.index(job)])


def _coordinator(jobset: JSONObject) -> dict[str, str]:
    coordinator = jobset["spec"].get("coordinator")
    if not coordinator:
        return {}
    name = jobset["metadata"]["name"]
    host = endpoints.host_name(
        name,
        jobset["spec"],
        coordinator["replicatedJob"],
        int(coordinator.get("jobIndex", 0)),
        int(coordinator.get("podIndex", 0)),
    )
    return {names.COORDINATOR_LABEL: host}


def of_job(job_name: str, index: int) -> dict[str, str]:
    """What the Job controller writes as labels on the pod of one completion index."""
    return {
        names.JOB_NAME_LABEL: job_name,
        names.JOB_NAME_OLD_LABEL: job_name,
        names.COMPLETION_INDEX: str(index),
    }
