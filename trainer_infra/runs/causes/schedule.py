"""Pods that have no node: what the scheduler says of them, or that none says anything."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.waiting_cause import Cause, Waiting

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
        scheduled = conditions.find_condition(
            (pod.get("status") or {}).get("conditions") or (), "PodScheduled"
        )
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
    scheduled = conditions.find_condition(
        (pod.get("status") or {}).get("conditions") or (), "PodScheduled"
    )
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
