"""What the pods of a JobSet are: their identities, host names and manifests.

Names, labels and annotations are those that JobSet v0.12 and the Job controller write, so a
manifest made here is the one a cluster would run.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset import replicated_job
from trainer_infra.local.jobset.replicated_job import ReplicatedJob
from trainer_infra.render import endpoints


class PodPhase(StrEnum):
    """How far one try of a pod is (Pod.status.phase)."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class PodId:
    """One pod of a JobSet, whatever the try."""

    job: str
    """Name of the replicated job."""
    replica: int
    """Which Job of the replicated job, from 0."""
    index: int
    """Completion index within the Job, from 0."""


@dataclass(frozen=True, slots=True)
class ObservedPod:
    """One try of one pod, as observed."""

    id: PodId
    attempt: int
    """Restarts of the JobSet before it, plus resumes."""
    retry: int
    """Tries of this pod before it in this attempt."""
    started: datetime
    phase: PodPhase = PodPhase.RUNNING
    ready: bool = False
    """It runs and its containers' probes pass."""
    exit_code: int | None = None
    """Of the container that ended the try; None while it runs or when it never started."""
    container: str = ""
    """Name of the container that ended the try; empty while it runs."""
    reason: str = ""
    """`Completed`, `Error`, `OOMKilled`, `StartError`, or `Stopped`: ended because we asked."""
    finished: datetime | None = None
    """None while it runs."""
    message: str = ""
    """Why it could not be started; else empty."""
    ended: Mapping[str, datetime] = field(default_factory=dict)
    """Containers that ended with 0 while others of the pod go on, and when."""


@dataclass(frozen=True, slots=True)
class Start:
    """A try to start."""

    id: PodId
    attempt: int
    """As in `ObservedPod`."""
    retry: int
    """As in `ObservedPod`."""
    not_before: datetime
    """The end of its backoff; not to be started earlier."""


def pod_ids(spec: JSONObject) -> tuple[PodId, ...]:
    """Every pod of a JobSetSpec, in template order: replica outer, completion index inner."""
    return tuple(
        PodId(job.name, replica, index)
        for job in replicated_job.read_jobs(spec)
        for replica in range(job.replicas)
        for index in range(job.completions)
    )


def host_names(name: str, spec: JSONObject) -> tuple[str, ...]:
    """The host name of each of `pod_ids(spec)`: `<jobset>-<job>-<replica>-<index>.<subdomain>`.

    The subdomain is `network.subdomain` or else the JobSet's name.
    """
    return tuple(
        endpoints.host_name(name, spec, pod.job, pod.replica, pod.index) for pod in pod_ids(spec)
    )


def manifest(jobset: JSONObject, start: Start) -> JSONObject:
    """The Pod of one try, as JobSet and the Job controller would make it from its template.

    Its name has no random suffix: it is the pod's host name, the same for every try. The restart
    label is the attempt, so it counts resumes too, which JobSet's does not.
    """
    jobset_name = jobset["metadata"]["name"]
    pod = start.id
    job = next(job for job in replicated_job.read_jobs(jobset["spec"]) if job.name == pod.job)
    name = endpoints.pod_name(jobset_name, pod.job, pod.replica, pod.index)
    job_name = replicated_job.job_name(jobset_name, pod.job, pod.replica)
    metadata = job.pod_template.get("metadata") or {}
    ours = _labels_of_jobset(jobset, job, pod.replica, start.attempt)
    index = {names.COMPLETION_INDEX: str(pod.index)}
    # What the Job controller writes as labels on the pod of one completion index.
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": names.namespace_of(jobset["metadata"].get("namespace")),
            "labels": {
                **(metadata.get("labels") or {}),
                **ours,
                names.JOB_NAME_LABEL: job_name,
                names.JOB_NAME_OLD_LABEL: job_name,
                names.COMPLETION_INDEX: str(pod.index),
            },
            "annotations": {**(metadata.get("annotations") or {}), **ours, **index},
        },
        "spec": {**_pod_spec(jobset, job), "hostname": name},
    }


def _pod_spec(jobset: JSONObject, job: ReplicatedJob) -> dict[str, Any]:
    """The pod template's spec with what JobSet's defaults and both controllers add."""
    spec: dict[str, Any] = {"restartPolicy": "OnFailure", **job.pod_spec}
    for kind in ("initContainers", "containers"):
        if spec.get(kind):
            spec[kind] = [_with_completion_index(container) for container in spec[kind]]
    if added := claim_volumes(jobset, spec):
        spec["volumes"] = [*(spec.get("volumes") or ()), *added]
    if (jobset["spec"].get("network") or {}).get("enableDNSHostnames") is not False:
        spec["subdomain"] = endpoints.subdomain(jobset["metadata"]["name"], jobset["spec"])
    return spec


def _with_completion_index(container: JSONObject) -> JSONObject:
    """The container with the env variable that an Indexed Job's containers have."""
    env = list(container.get("env") or ())
    if any(variable["name"] == names.JOB_COMPLETION_INDEX for variable in env):
        return container
    source = {"fieldRef": {"fieldPath": names.COMPLETION_INDEX_FIELD}}
    return {**container, "env": [*env, {"name": names.JOB_COMPLETION_INDEX, "valueFrom": source}]}


def claim_volumes(jobset: JSONObject, pod_spec: JSONObject) -> tuple[JSONObject, ...]:
    """The volumes to add to a pod of `jobset`, in the order of its `volumeClaimPolicies`.

    Rule: JobSet v0.12, KEP-572: a claim is named `<template>-<jobset>`, and a pod gets it when one
    of its containers has a volumeMount of the template's name.
    """
    mounted = {
        mount["name"]
        for kind in ("initContainers", "containers")
        for container in pod_spec.get(kind) or ()
        for mount in container.get("volumeMounts") or ()
    }
    return tuple(
        {
            "name": claim,
            "persistentVolumeClaim": {"claimName": f"{claim}-{jobset['metadata']['name']}"},
        }
        for policy in jobset["spec"].get("volumeClaimPolicies") or ()
        for template in policy.get("templates") or ()
        if (claim := template["metadata"]["name"]) in mounted
    )


def _labels_of_jobset(
    jobset: JSONObject, job: ReplicatedJob, replica: int, restarts: int
) -> dict[str, str]:
    """What JobSet v0.12 writes on the pods of one Job: labels, and as annotations the same."""
    metadata = jobset["metadata"]
    every = replicated_job.read_jobs(jobset["spec"])
    group = [other for other in every if other.group == job.group]
    job_name = replicated_job.job_name(metadata["name"], job.name, replica)
    key = f"{names.namespace_of(metadata.get('namespace'))}/{job_name}".encode()
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
