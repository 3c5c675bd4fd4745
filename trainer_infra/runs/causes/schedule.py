"""Pods that have no node: what the scheduler says of them and of their claims, or that none says anything."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.causes.surroundings import events_about
from trainer_infra.runs.waiting_cause import Cause, Waiting

MISSING: Final = re.compile(r'persistentvolumeclaim "[^"]*" not found')

UNBOUND: Final = re.compile(r"unbound immediate PersistentVolumeClaims|persistent volumes to bind")

DEFAULT: Final = "default-scheduler"
"""The scheduler of pods that name none."""
PREEMPTED: Final = "Preempted"
"""Reason of the event for a pod that made room."""


def unscheduled_pods(pods: Iterable[JSONObject], events: Sequence[JSONObject]) -> Iterator[Waiting]:
    """What pods without a node wait for."""
    for pod in pods:
        if pod_facts.node_of(pod) or pod_facts.phase_of(pod) != "Pending":
            continue
        name = pod["metadata"]["name"]
        scheduled = _scheduled(pod)
        if scheduled is None:
            yield _silent(pod)
        elif scheduled.get("reason") == "SchedulingGated":
            yield Waiting(
                Cause.SCHEDULING_GATE, f"the controller that removes {_gates(pod)} of pod {name}"
            )
        elif scheduled["status"] != "True":
            yield _unschedulable(pod, scheduled.get("message", ""), events)


def is_unschedulable(pod: JSONObject) -> bool:
    """Whether a scheduler has found no place for it."""
    scheduled = _scheduled(pod)
    return scheduled is not None and scheduled.get("reason") == "Unschedulable"


def _unschedulable(pod: JSONObject, said: str, events: Sequence[JSONObject]) -> Waiting:
    place = f"a place for pod {pod['metadata']['name']}: {said}"
    for each in events:
        before = str(each["involvedObject"].get("name", ""))
        if each["reason"] == PREEMPTED and before[: -pod_facts.SUFFIX] == pod_facts.host_name(pod):
            why = f"pod {before} before it was preempted: {each['message']}"
            return Waiting(Cause.PREEMPTED, f"{place}; {why}")
    return Waiting(Cause.UNSCHEDULABLE, place)


def _silent(pod: JSONObject) -> Waiting:
    scheduler = (pod.get("spec") or {}).get("schedulerName") or DEFAULT
    name, since = pod["metadata"]["name"], pod["metadata"].get("creationTimestamp") or ""
    verdict = f"{scheduler} has said nothing of pod {name} since {since}; see whether it runs"
    return Waiting(Cause.SCHEDULER_SILENT, f"a place for pod {name}", since, verdict)


def _gates(pod: JSONObject) -> str:
    gates = [each["name"] for each in (pod.get("spec") or {}).get("schedulingGates") or ()]
    return f"scheduling gate{'s' if len(gates) > 1 else ''} {', '.join(gates)}"


def waiting_claims(pods: Iterable[JSONObject], events: Sequence[JSONObject]) -> Iterator[Waiting]:
    """What pods without a node wait for, when it is a claim."""
    for pod in pods:
        said = _said(pod)
        name = pod["metadata"]["name"]
        if found := MISSING.search(said):
            yield Waiting(Cause.CLAIM_MISSING, f"pod {name} has no node: {found.group()}")
        elif UNBOUND.search(said):
            why = "".join(f"; {each}" for each in _of_claims(pod, events))
            yield Waiting(Cause.CLAIM_UNBOUND, f"a volume for pod {name}: {said}{why}")


def unbound_claims(pod: JSONObject) -> tuple[str, ...]:
    """Claims of a pod that may be why it has no node."""
    return claim_names(pod) if UNBOUND.search(_said(pod)) else ()


def claim_names(pod: JSONObject) -> tuple[str, ...]:
    """Names of the claims that a pod mounts."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    claims = (each.get("persistentVolumeClaim") or {} for each in volumes)
    return tuple(each["claimName"] for each in claims if each.get("claimName"))


def _of_claims(pod: JSONObject, events: Sequence[JSONObject]) -> Iterator[str]:
    for name in claim_names(pod):
        told = list(events_about(events, "PersistentVolumeClaim", name))
        if told:
            yield f"claim {name}: {told[-1]['message']}"


def _said(pod: JSONObject) -> str:
    """What the scheduler says of a pod without a node."""
    if pod_facts.node_of(pod) or pod_facts.phase_of(pod) != "Pending":
        return ""
    return str((_scheduled(pod) or {}).get("message") or "")


def _scheduled(pod: JSONObject) -> JSONObject | None:
    found = (pod.get("status") or {}).get("conditions") or ()
    return conditions.find_condition(found, "PodScheduled")
