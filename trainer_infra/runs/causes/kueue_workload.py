"""Why Kueue does not start a queued JobSet, from its Workload and queues, in Kueue's own words. Pure.

The conditions are those of Kueue 0.19 (apis/kueue/v1beta2 and pkg/controller/core).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions as status_conditions
from trainer_infra.runs.causes import kueue_causes as causes
from trainer_infra.runs.causes.kueue_causes import KueueCause

MADE_WITHIN: Final = timedelta(seconds=60)
"""How long after a JobSet Kueue makes its Workload, at most; it takes it less than a second."""

_BLOCKED: Final = (
    ("LocalQueue ", " doesn't exist", causes.LOCAL_QUEUE_MISSING),
    ("LocalQueue ", " is inactive", causes.LOCAL_QUEUE_STOPPED),
    ("ClusterQueue ", " doesn't exist", causes.CLUSTER_QUEUE_MISSING),
    ("ClusterQueue ", " not found", causes.CLUSTER_QUEUE_MISSING),
    ("ClusterQueue ", " is terminating or missing", causes.CLUSTER_QUEUE_MISSING),
    ("ClusterQueue ", " is stopped", causes.CLUSTER_QUEUE_STOPPED),
    ("ClusterQueue ", " is inactive", causes.CLUSTER_QUEUE_INACTIVE),
    ("workload namespace doesn't match ClusterQueue selector", "", causes.NAMESPACE),
    ("resources validation failed", "", causes.REQUESTS),
    ("resources didn't satisfy LimitRange constraints", "", causes.REQUESTS),
    ("Admission is gated by: ", "", causes.GATED),
)
"""How the message of QuotaReserved begins and ends, and what it means."""
_INACTIVE: Final = {
    "Stopped": causes.CLUSTER_QUEUE_STOPPED,
    "Terminating": causes.CLUSTER_QUEUE_MISSING,
    "FlavorNotFound": causes.CLUSTER_QUEUE_INCOMPLETE,
    "AdmissionCheckNotFound": causes.CLUSTER_QUEUE_INCOMPLETE,
    "TopologyNotFound": causes.CLUSTER_QUEUE_INCOMPLETE,
}
"""Reason of a ClusterQueue's condition Active."""
_EVICTIONS: Final = {
    "Preempted": causes.PREEMPTED,
    "PodsReadyTimeout": causes.PODS_READY,
    "LocalQueueStopped": causes.LOCAL_QUEUE_STOPPED,
    "ClusterQueueStopped": causes.CLUSTER_QUEUE_STOPPED,
}
"""Reason of a Workload's condition Evicted."""
# Kueue 0.19 writes one clause for each pod set, and in it one reason for each flavor and resource; its
# machine-readable reason ExceedsMaxQuota stands behind a feature gate that is off.
_CLAUSE: Final = re.compile(r"(?:^|; )couldn't assign flavors to pod set [^:]*: ")
_MORE_THAN_ALL: Final = re.compile(
    r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>\S+), previously considered "
    r"podsets requests \([^)]*\) \+ current podset request \([^)]*\) > maximum capacity \([^)]*\)"
)
_NO_MATCH: Final = re.compile(
    r"untolerated taint .+? in flavor (?P<taint>[^\s,]+)"
    r"|flavor (?P<label>\S+) doesn't match node affinity"
)
_USED: Final = re.compile(
    r"insufficient unused quota for \S+ in flavor (?P<flavor>\S+), \S+ more needed"
)
_NO_RESOURCE: Final = re.compile(r"resource \S+ unavailable in ClusterQueue")
_KNOWN: Final = (_MORE_THAN_ALL, _NO_MATCH, _USED, _NO_RESOURCE)


@dataclass(frozen=True, slots=True)
class Queueing:
    """What the cluster has of a suspended JobSet in a queue."""

    served: bool = True
    """Whether it serves Workloads of Kueue."""
    workload: JSONObject | None = None
    """The JobSet's; None where there is none."""
    readable: bool = True
    """Whether Workloads may be read."""
    cluster_queue: JSONObject | None = None
    """The one behind its LocalQueue, where it may be read."""
    missing: str = ""
    """The priority class that the JobSet names and that is not there: its kind and name."""


@dataclass(frozen=True, slots=True)
class QueuedWorkload:
    """Why Kueue does not start a JobSet."""

    cause: KueueCause
    sentence: str
    """Kueue's own one, or what is missing."""

    def ended(self) -> str:
        """What a gate says that ends; empty where it goes on."""
        if not self.cause.ends:
            return ""
        return f"{self.sentence}; {self.cause.help}"


def queue_of(jobset: JSONObject) -> str:
    """Kueue's queue of the JobSet; empty without one."""
    return str((jobset["metadata"].get("labels") or {}).get(names.KUEUE_QUEUE_LABEL, ""))


def is_held(jobset: JSONObject) -> bool:
    """Whether it is in a queue and suspended, so that only Kueue is to resume it."""
    leaves = "deletionTimestamp" in jobset["metadata"]
    return bool(queue_of(jobset) and jobset["spec"].get("suspend") and not leaves)


def is_resumed(jobset: JSONObject) -> bool:
    """Whether it is in a queue and runs, whatever suspend its user wrote: Kueue decides."""
    return bool(queue_of(jobset) and not jobset["spec"].get("suspend"))


def is_late(jobset: JSONObject, now: datetime) -> bool:
    """Whether Kueue would have made its Workload by now, if it managed the JobSet."""
    return now - datetime.fromisoformat(jobset["metadata"]["creationTimestamp"]) > MADE_WITHIN


def waiting_workload(
    jobset: JSONObject, queueing: Queueing | None, now: datetime
) -> QueuedWorkload | None:
    """Why Kueue does not start the JobSet; None for one that is in no queue, not suspended or leaving."""
    name = queue_of(jobset)
    if not is_held(jobset):
        return None
    head = f"admission by Kueue to queue {name}"
    if queueing is None or not queueing.readable:
        return QueuedWorkload(causes.PENDING, head)
    if not queueing.served:
        said = "this cluster has no Kueue: it serves no Workload of kueue.x-k8s.io"
        return QueuedWorkload(causes.ABSENT, f"{head}, but {said}")
    if queueing.workload is None:
        return _without_workload(jobset, queueing, head, now)
    cause, said = _of_workload(queueing.workload, queueing.cluster_queue)
    return QueuedWorkload(cause, f"{head}: {said}" if said else head)


def _without_workload(
    jobset: JSONObject, queueing: Queueing, head: str, now: datetime
) -> QueuedWorkload:
    if queueing.missing:
        said = f"Kueue makes no Workload of it, because there is no {queueing.missing}"
        return QueuedWorkload(causes.PRIORITY_CLASS, f"{head}: {said}")
    late = is_late(jobset, now)
    said = f"Kueue made no Workload of it since {jobset['metadata']['creationTimestamp']}"
    return QueuedWorkload(causes.NOT_MANAGED if late else causes.NO_WORKLOAD, f"{head}: {said}")


def _of_workload(workload: JSONObject, cluster_queue: JSONObject | None) -> tuple[KueueCause, str]:
    status = workload.get("status") or {}
    conditions = status.get("conditions") or ()
    finished = status_conditions.true_condition(conditions, "Finished")
    evicted = status_conditions.true_condition(conditions, "Evicted")
    name = workload["metadata"]["name"]
    if finished:
        return causes.FINISHED, f"Workload {name} is finished: {finished.get('message', '')}"
    if not workload["spec"].get("active", True):
        said = (evicted or {}).get("message") or "The workload is deactivated"
        return causes.DEACTIVATED, f"{said} (spec.active of Workload {name} is false)"
    reserved = status_conditions.find_condition(conditions, "QuotaReserved") or {}
    if reserved.get("status") != "True":
        cause, said = _unreserved(reserved.get("message", ""), cluster_queue)
        if not evicted or cause not in {causes.PENDING, causes.QUOTA_USED}:
            return cause, said
    again = (status.get("requeueState") or {}).get("requeueAt", "")
    if evicted:
        return _evicted(evicted, reserved, again)
    if status_conditions.is_true(conditions, "Admitted"):
        return causes.STARTING, "Kueue has admitted it and resumes its JobSet"
    return causes.CHECKS, "; ".join(
        [*_checks(status.get("admissionChecks") or ()), *_again(again)] or ["quota is reserved"]
    )


def _evicted(evicted: JSONObject, reserved: JSONObject, again: str) -> tuple[KueueCause, str]:
    """A Workload that ran and is queued again."""
    parts = [evicted.get("message", "")]
    said = reserved.get("message", "")
    if reserved.get("status") == "False" and said != parts[0]:
        parts.append(f"queued again: {said}")
    said = "; ".join((*parts, *_again(again)))
    return _EVICTIONS.get(evicted.get("reason", ""), causes.EVICTED), said


def _again(time: str) -> Iterator[str]:
    if time:
        yield f"Kueue tries again at {time}"


def _unreserved(said: str, cluster_queue: JSONObject | None) -> tuple[KueueCause, str]:
    """The cause in the message of QuotaReserved, and the message with what the queue adds."""
    found = (each for head, tail, each in _BLOCKED if said.startswith(head) and said.endswith(tail))
    cause = next(found, None)
    if cause is causes.CLUSTER_QUEUE_INACTIVE and cluster_queue is not None:
        active = status_conditions.find_condition(
            (cluster_queue.get("status") or {}).get("conditions") or (), "Active"
        )
        if active is not None and active["status"] != "True":
            why = active.get("message", "")
            return _INACTIVE.get(active.get("reason", ""), cause), f"{said}: {why}"
    if cause is None and "couldn't assign flavors to pod set" in said:
        cause = causes.QUOTA_USED
        if never_fits(said, cluster_queue):
            cause = causes.NEVER_FITS
    return cause or causes.PENDING, said


def _checks(checks: Iterable[JSONObject]) -> Iterator[str]:
    for each in checks:
        if each["state"] != "Ready":
            message = f" ({each['message']})" if each.get("message") else ""
            yield f"AdmissionCheck {each['name']} is {each['state']}{message}"


def never_fits(message: str, cluster_queue: JSONObject | None) -> bool:
    """Whether no flavor can ever hold one of the pod sets, by the message of QuotaReserved.

    What is not known for sure may fit; a message need not name every flavor that the ClusterQueue has.
    """
    clauses = _CLAUSE.split(message)
    return not clauses[0] and any(_is_hopeless(each, cluster_queue) for each in clauses[1:])


def _is_hopeless(clause: str, cluster_queue: JSONObject | None) -> bool:
    rest = clause
    for each in _KNOWN:
        rest = each.sub("", rest)
    if rest.strip(" ,;"):
        return False
    if _NO_RESOURCE.search(clause):
        return True
    more = list(_MORE_THAN_ALL.finditer(clause))
    none = {each["flavor"] for each in more}
    none |= {each["taint"] or each["label"] for each in _NO_MATCH.finditer(clause)}
    used = {each["flavor"] for each in _USED.finditer(clause)}
    # Every flavor that the ClusterQueue has for one of the resources.
    resources = {each["resource"] for each in more}
    groups = ((cluster_queue or {}).get("spec") or {}).get("resourceGroups") or ()
    others = {
        flavor["name"]
        for group in groups
        if resources & set(group["coveredResources"])
        for flavor in group["flavors"]
    }
    return bool(none) and not (used | others) - none
