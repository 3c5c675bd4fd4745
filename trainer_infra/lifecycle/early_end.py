"""Pods that were told to end while their run went on, and ended with 0. Pure.

The Job controller counts such a pod as succeeded (Kubernetes 1.34, pkg/controller/job), so JobSet completes a
training of which a part never reached its end. Who tells a pod to end, and what is left to see it by:

- a user or a program deletes it: `deletionTimestamp`, until its Job has counted it; then no pod;
- a drain, the scheduler, a taint: the same, with the condition DisruptionTarget. A node that is lost, short of
  memory or disk, or shuts down makes the pod Failed, whatever it ended with;
- for each of these the kubelet writes an event, `Killing`, which Kubernetes keeps for an hour;
- the Job controller (a suspended Job, as Kueue's preemption makes one; a Job that failed or met its own success
  policy; a pod too many): it removes its finalizer first, so the pod counts for nothing, and runs again where
  it is due;
- JobSet, which restarts or has ended, and who deletes Jobs: the pods are of no Job that is there.

So only complete Jobs count, by UID, and of each index the pod that it was counted for. A pod that was deleted
after it had ended has ended well.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.render.observed_objects import ObservedObjects

JOB_UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
UNCOUNTED: Final = "batch.kubernetes.io/job-tracking"
"""The finalizer of a pod that its Job has not counted yet."""
EVENT_FIELDS: Final = tuple(
    f"involvedObject.kind=Pod,reason={reason}" for reason in ("Started", "Killing")
)
"""Field selectors of the events that tell of pods that are gone."""
_SUFFIX: Final = 6
"""Characters that the Job controller adds to `<job>-<index>`."""
_HOW: Final = {
    "PreemptionByScheduler": "was preempted for a pod of higher priority",
    "EvictionByEvictionAPI": "was evicted from its node",
    "DeletionByTaintManager": "was evicted from its node for a taint",
}
"""What a reason of the condition DisruptionTarget means; without one a pod was deleted."""


@dataclass(frozen=True, slots=True)
class PodEnds:
    """How the pods of a JobSet's complete Jobs ended, where that is not simply well."""

    early: tuple[str, ...] = ()
    """What happened to each that ended early, as a clause: `pod tj-node-0-1-abcde was deleted`."""
    unknown: tuple[str, ...] = ()
    """`<job>-<index>` of which no pod is left, and no event tells how it ended."""

    def failure(self) -> str:
        """The message of a run that failed for it."""
        others = f"; so did {len(self.early) - 1} more" if len(self.early) > 1 else ""
        return (
            f"{sentence(self.early[0])}{others}: make the program end with 143 on SIGTERM, as "
            "trainer_infra.checkpoint does, and run it again"
        )

    def doubt(self) -> str:
        """What is not known of a run that completed."""
        others = f" and of {len(self.unknown) - 1} more" if len(self.unknown) > 1 else ""
        return (
            f"nothing is left of pod {self.unknown[0]}{others} that tells whether it was told to end before "
            "its training had"
        )


def sentence(clause: str) -> str:
    """What happened to a pod that ended early, and what Kubernetes makes of it, without a full stop."""
    return (
        f"{clause} and ended with 0, which Kubernetes counts as success although the training may not have "
        "reached its end"
    )


def pod_ends(observed: ObservedObjects) -> PodEnds:
    """How the pods of the complete Jobs ended, as far as these were read."""
    pods = defaultdict(list)
    for pod in observed.pods:
        pods[_label(pod, JOB_UID_LABEL)].append(pod)
    early, unknown = list[str](), list[str]()
    for job in observed.jobs:
        status = job.get("status") or {}
        if not conditions.is_true(status.get("conditions") or (), names.COMPLETE):
            continue
        by_index = _by_index(pods[job["metadata"]["uid"]])
        for index in map(str, indexes_in(status.get("completedIndexes") or "")):
            place = f"{job['metadata']['name']}-{index}"
            if index not in by_index:
                by_index[index] = _by_events(place, observed.pod_events or ())
            if by_index[index] is None:
                unknown.append(place)
        early += filter(None, by_index.values())
    return PodEnds(tuple(early), tuple(unknown))


def _by_index(pods: Iterable[JSONObject]) -> dict[str, str | None]:
    """What happened to the pod of each index that succeeded, as a clause; empty where it ended by itself."""
    found: dict[str, str | None] = {}
    for pod in pods:
        if (pod.get("status") or {}).get("phase") == "Succeeded":
            index = _label(pod, names.COMPLETION_INDEX) or pod["metadata"]["name"]
            # Of two the one counts that was made in place of the other, which was told to end.
            found[index] = found.get(index, "?") and told(pod)
    return found


def told(pod: JSONObject) -> str:
    """How a pod was told to end before it had, as a clause; empty of one that ended by itself.

    Times are whole seconds: within the same one it was told. One without times of containers was seen to be
    told (`as_noted`).
    """
    metadata, status = pod["metadata"], pod.get("status") or {}
    if "deletionTimestamp" not in metadata:
        return ""
    states = ((each.get("state") or {}) for each in status.get("containerStatuses") or ())
    ended = max((each.get("terminated", {}).get("finishedAt") or "" for each in states), default="")
    if ended and told_at(pod) > conditions.parse_timestamp(ended):
        return ""
    return f"pod {metadata['name']} {_HOW.get(_disruption(pod).get('reason', ''), 'was deleted')}"


def told_at(pod: JSONObject) -> datetime:
    """When a pod that is being deleted was told to end: the time of a deletion is when its grace is over."""
    metadata = pod["metadata"]
    until = conditions.parse_timestamp(metadata["deletionTimestamp"])
    return until - timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)


def _disruption(pod: JSONObject) -> JSONObject:
    found = (pod.get("status") or {}).get("conditions") or ()
    return conditions.true_condition(found, "DisruptionTarget") or {}


def is_early(pod: JSONObject) -> bool:
    """Whether a pod succeeded that was told to end before it had, and its Job will count it."""
    is_counted = UNCOUNTED in (pod["metadata"].get("finalizers") or ())
    return is_counted and (pod.get("status") or {}).get("phase") == "Succeeded" and bool(told(pod))


def as_noted(pod: JSONObject) -> JSONObject:
    """A pod as it is remembered that was being deleted when it was first seen to have succeeded.

    So no clocks of machines are compared.
    """
    keys = (JOB_UID_LABEL, names.COMPLETION_INDEX)
    labels = {key: _label(pod, key) for key in keys}
    disruption = {key: _disruption(pod).get(key, "") for key in ("type", "status", "reason")}
    return {
        "metadata": {"name": pod["metadata"]["name"], "labels": labels, "deletionTimestamp": ""},
        "status": {"phase": "Succeeded", "conditions": [disruption]},
    }


def noted_pods(annotations: JSONObject | None) -> tuple[JSONObject, ...]:
    """The pods that are remembered in the annotations of a TrainJob; none where that is damaged."""
    try:
        found = json.loads((annotations or {}).get(names.EARLY_ENDS) or "[]")
        return tuple(each for each in found if _label(each, JOB_UID_LABEL) and told(each))
    except (LookupError, TypeError, ValueError, AttributeError):
        return ()


def _by_events(place: str, events: Iterable[JSONObject]) -> str | None:
    """The same of the last pod of an index that is gone; None where no event tells."""
    times: dict[str, tuple[str, bool]] = {}
    killed = set()
    for each in events:
        about = each["involvedObject"]
        name, started = about.get("name", ""), each.get("reason") == "Started"
        if not name.startswith(f"{place}-") or len(name) != len(place) + _SUFFIX:
            continue
        at = each["metadata"].get("creationTimestamp") or ""
        times[name] = max(times.get(name, ("", False)), (at, started))
        if stops_work(each):
            killed.add(name)
    if not times:
        return None
    last = max(times, key=lambda name: times[name])
    return f"pod {last} was told to end" if last in killed else ""


def stops_work(event: JSONObject) -> bool:
    """Whether an event `Killing` is of a pod that was told to end.

    Probes that fail have other words, and containers beside end with the others.
    """
    path = str(event["involvedObject"].get("fieldPath", ""))
    is_of_work = path.startswith("spec.containers{")
    return is_of_work and str(event.get("message", "")).startswith("Stopping container")


def indexes_in(text: str) -> Iterator[int]:
    """The indexes in a text such as `1,3-5`."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _label(pod: JSONObject, key: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(key, ""))
