"""Pods of a local run as Kubernetes would write them: what `lifecycle` and `runs.view` read. Pure.

A try that we ended, and one from before a restart of the JobSet, is a pod that is being deleted: it
says nothing of why the run failed, as on a cluster, where it is gone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any, Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.local.jobset import pods, replicated_job
from trainer_infra.local.jobset.pods import ObservedPod, PodId, PodPhase
from trainer_infra.render import endpoints

NOT_STARTED: Final = 128
"""Exit code of a container that could not be started, as container runtimes have it."""


@dataclass(frozen=True, slots=True)
class ObservedTry:
    """One try of a pod and what it said last."""

    pod: ObservedPod
    last_lines: tuple[str, ...]
    """Of its log, the oldest first."""


def wire_pods(
    jobset: JSONObject | None, tries: Sequence[ObservedTry], since: int
) -> tuple[JSONObject, ...]:
    """Every try as a pod, in start order; without a JobSet there are none.

    Tries count from the attempt `since`: the JobSet was restarted before it.
    """
    if jobset is None:
        return ()
    containers = {
        each.name: [str(one["name"]) for one in each.pod_spec["containers"]]
        for each in replicated_job.read_jobs(jobset["spec"])
    }
    return tuple(_wire(jobset, each.pod, containers, since) for each in tries)


def planned_pods(jobset: JSONObject | None) -> tuple[JSONObject, ...]:
    """Every pod that the JobSet has by its template, as one that was not started yet."""
    if jobset is None:
        return ()
    return tuple(
        {"metadata": _metadata(jobset, each), "status": {"phase": "Pending"}}
        for each in pods.pod_ids(jobset["spec"])
    )


def last_lines(
    jobset: JSONObject | None, tries: Iterable[ObservedTry], since: int
) -> Mapping[str, tuple[str, ...]]:
    """The last lines by pod: of the try that failed first, which is the one that a failure names."""
    found: dict[str, tuple[str, ...]] = {}
    failed: set[str] = set()
    for each in tries:
        name = _name(jobset, each.pod.id) if jobset else ""
        if name not in failed:
            found[name] = each.last_lines
        if each.pod.phase is PodPhase.FAILED and not _is_superseded(each.pod, since):
            failed.add(name)
    return found


def _wire(
    jobset: JSONObject, pod: ObservedPod, containers: Mapping[str, Sequence[str]], since: int
) -> JSONObject:
    metadata = {**_metadata(jobset, pod.id), "creationTimestamp": conditions.timestamp(pod.started)}
    if _is_superseded(pod, since):
        metadata["deletionTimestamp"] = conditions.timestamp(pod.finished or pod.started)
        return {"metadata": metadata, "status": {"phase": str(pod.phase)}}
    # A try ends with one container, which is the one that counts then.
    named = [pod.container or containers[pod.id.job][0]] if pod.finished else containers[pod.id.job]
    statuses = [_status(pod, each) for each in named]
    return {
        "metadata": metadata,
        "status": {"phase": str(pod.phase), "containerStatuses": statuses},
    }


def _status(pod: ObservedPod, name: str) -> JSONObject:
    """One container as the kubelet tells of it."""
    if pod.finished is None and name in pod.ended:
        pod = replace(pod, finished=pod.ended[name], exit_code=0, reason="Completed")
    return {"name": name, "ready": pod.ready, "restartCount": 0, "state": _state(pod)}


def _state(pod: ObservedPod) -> JSONObject:
    started = conditions.timestamp(pod.started)
    if pod.finished is None:
        return {"running": {"startedAt": started}}
    ended = {
        "exitCode": NOT_STARTED if pod.exit_code is None else pod.exit_code,
        "reason": pod.reason,
        "message": pod.message,
        "startedAt": started,
        # Parts of a second: of several pods that fail, the first one is named.
        "finishedAt": pod.finished.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return {"terminated": ended}


def _is_superseded(pod: ObservedPod, since: int) -> bool:
    return pod.reason == "Stopped" or (pod.attempt < since and pod.phase is not PodPhase.RUNNING)


def _metadata(jobset: JSONObject, pod: PodId) -> dict[str, Any]:
    labels = {
        names.JOBSET_NAME_LABEL: jobset["metadata"]["name"],
        names.REPLICATED_JOB_LABEL: pod.job,
        names.JOB_INDEX_LABEL: str(pod.replica),
        names.COMPLETION_INDEX: str(pod.index),
    }
    return {"name": _name(jobset, pod), "labels": labels}


def _name(jobset: JSONObject, pod: PodId) -> str:
    return endpoints.pod_name(jobset["metadata"]["name"], pod.job, pod.replica, pod.index)
