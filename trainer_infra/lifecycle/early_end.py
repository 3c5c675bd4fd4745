"""Pods that were told to end while their run went on, and ended with 0. Pure.

The Job controller counts such a pod as succeeded (Kubernetes 1.34, pkg/controller/job), so JobSet completes a
training of which a part never reached its end. Who tells a pod to end, and what is left to see it by:

- a person or a program deletes it: `deletionTimestamp`, until its Job has counted it; then no pod;
- a drain, the scheduler, a taint: the same, with the condition DisruptionTarget. A node that is lost, short of
  memory or disk, or shuts down makes the pod Failed, whatever it ended with;
- for each of these the kubelet writes an event, `Killing`, which Kubernetes keeps for an hour;
- the Job controller (a suspended Job, as Kueue's preemption makes one; a Job that failed or met its own success
  policy; a pod too many): it removes its finalizer first, so the pod counts for nothing, and runs again where
  it is due;
- JobSet, which restarts or has ended, and who deletes Jobs: the pods are of no Job that is there.

So only complete Jobs count, by UID, and of each index the pod that it was counted for. A pod that was deleted
after it had ended, by whomever, has ended well.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.render.observed_objects import ObservedObjects

EVENT_FIELDS: Final = tuple(
    f"involvedObject.kind=Pod,reason={reason}" for reason in ("Started", "Killing")
)
"""Field selectors of the events that tell of pods that are gone."""
MOST: Final = 8
"""Pods that are remembered of one run; one is enough for the verdict."""
_SUFFIX: Final = 6
"""Characters that the Job controller adds to `<job>-<index>`."""
_HOW: Final = {
    "PreemptionByScheduler": "was preempted for a pod of higher priority",
    "EvictionByEvictionAPI": "was evicted from its node",
    "DeletionByTaintManager": "was evicted from its node for a taint",
}
"""What a reason of the condition DisruptionTarget means."""
_DELETED: Final = "was deleted"
_TOLD: Final = "was told to end"


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """A pod that was told to end before it had ended, and ended with 0."""

    pod: str
    """Its name."""
    how: str
    """How it was told, as a clause."""

    def sentence(self) -> str:
        """What happened, and what Kubernetes makes of it, without a full stop."""
        return (
            f"pod {self.pod} {self.how} and ended with 0, which Kubernetes counts as success although the "
            "training may not have reached its end"
        )


@dataclass(frozen=True, slots=True)
class PodEnds:
    """How the pods of a JobSet's complete Jobs ended, where that is not simply well."""

    early: tuple[EarlyEnd, ...] = ()
    unknown: tuple[str, ...] = ()
    """`<job>-<index>` of which no pod is left, and no event tells how it ended."""

    def failure(self) -> str:
        """The message of a run that failed for it."""
        others = f"; so did {len(self.early) - 1} more" if len(self.early) > 1 else ""
        return (
            f"{self.early[0].sentence()}{others}: let the program end with 143 when it is told to end "
            "(SIGTERM), as trainer_infra.checkpoint does, then run it again"
        )

    def doubt(self) -> str:
        """What is not known of a run that completed, as a clause; empty where all is."""
        if not self.unknown:
            return ""
        others = f" and of {len(self.unknown) - 1} more" if len(self.unknown) > 1 else ""
        return (
            f"nothing is left of pod {self.unknown[0]}{others} that tells whether it was told to end before "
            "its training had"
        )


def pod_ends(observed: ObservedObjects) -> PodEnds:
    """How the pods of the complete Jobs ended, as far as these were read."""
    pods = defaultdict(list)
    for pod in observed.pods:
        pods[_label(pod, names.JOB_UID_LABEL)].append(pod)
    early: list[EarlyEnd] = []
    unknown: list[str] = []
    for job in observed.jobs:
        status, name = job.get("status") or {}, job["metadata"]["name"]
        if not conditions.is_true(status.get("conditions") or (), names.COMPLETE):
            continue
        told, ended = _by_index(pods[job["metadata"]["uid"]])
        early += told.values()
        for index in _indexes(status.get("completedIndexes") or ""):
            if index in told or index in ended:
                continue
            found = _by_events(f"{name}-{index}", observed.pod_events or ())
            if found is None:
                unknown.append(f"{name}-{index}")
            elif found.how:
                early.append(found)
    return PodEnds(tuple(early), tuple(unknown))


def _by_index(pods: Iterable[JSONObject]) -> tuple[dict[str, EarlyEnd], set[str]]:
    """By completion index who ended early, and of which indexes a pod ended well."""
    told: dict[str, EarlyEnd] = {}
    ended = set()
    for pod in pods:
        if (pod.get("status") or {}).get("phase") == "Succeeded":
            index = _label(pod, names.COMPLETION_INDEX) or pod["metadata"]["name"]
            if how := how_told(pod):
                told[index] = EarlyEnd(pod["metadata"]["name"], how)
            else:
                ended.add(index)
    # A pod that was made anew in place of one that was told to end is the one that counts.
    return {index: each for index, each in told.items() if index not in ended}, ended


def how_told(pod: JSONObject) -> str:
    """How a pod was told to end before it had, as a clause; empty of one that ended by itself.

    Times are whole seconds: within the same one it was told. One without times of containers was seen to be
    told (`as_noted`).
    """
    metadata, status = pod["metadata"], pod.get("status") or {}
    if "deletionTimestamp" not in metadata:
        return ""
    states = ((each.get("state") or {}) for each in status.get("containerStatuses") or ())
    ended = max((each.get("terminated", {}).get("finishedAt") or "" for each in states), default="")
    if ended and _asked_at(metadata) > ended:
        return ""
    return _HOW.get(_disruption(pod), _DELETED)


def _disruption(pod: JSONObject) -> str:
    found = (pod.get("status") or {}).get("conditions") or ()
    return str((conditions.true_condition(found, "DisruptionTarget") or {}).get("reason", ""))


def _asked_at(metadata: JSONObject) -> str:
    """When a deletion was asked for: its time is when the grace is over."""
    until = conditions.parse_timestamp(metadata["deletionTimestamp"])
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return conditions.timestamp(until - grace)


def is_early(pod: JSONObject) -> bool:
    """Whether a pod that succeeded was told to end before it had, and its Job will count it."""
    is_counted = names.UNCOUNTED in (pod["metadata"].get("finalizers") or ())
    return is_counted and bool(how_told(pod))


def as_noted(pod: JSONObject) -> JSONObject:
    """A pod as it is remembered that was being deleted when it was first seen to have succeeded.

    So no clocks of machines are compared.
    """
    keys = (names.JOB_UID_LABEL, names.COMPLETION_INDEX)
    return _noted(pod["metadata"]["name"], *(_label(pod, key) for key in keys), _disruption(pod))


def _noted(name: str, job: str, index: str, reason: str) -> JSONObject:
    disruption = {"type": "DisruptionTarget", "status": "True", "reason": reason}
    return {
        "metadata": {
            "name": name,
            "labels": {names.JOB_UID_LABEL: job, names.COMPLETION_INDEX: index},
            "deletionTimestamp": "",
        },
        "status": {"phase": "Succeeded", "conditions": [disruption]},
    }


def notes_text(pods: Sequence[JSONObject]) -> str:
    """Remembered pods, the first few, as the annotation `names.EARLY_ENDS` has them."""
    return json.dumps(
        {
            each["metadata"]["name"]: [*each["metadata"]["labels"].values(), _disruption(each)]
            for each in pods[:MOST]
        }
    )


def noted_pods(annotations: JSONObject | None) -> tuple[JSONObject, ...]:
    """The pods that are remembered in the annotations of a TrainJob; none where that is damaged."""
    try:
        notes = json.loads((annotations or {}).get(names.EARLY_ENDS) or "{}")
        return tuple(_noted(name, *map(str, said)) for name, said in notes.items())
    except (ValueError, TypeError, AttributeError):
        return ()


def _by_events(place: str, events: Iterable[JSONObject]) -> EarlyEnd | None:
    """The end of the last pod of an index, `how` empty where it ended by itself; None where no event tells."""
    times: dict[str, tuple[str, bool]] = {}
    killed = set()
    for each in events:
        about = each["involvedObject"]
        name, started = about.get("name", ""), each.get("reason") == "Started"
        if not name.startswith(f"{place}-") or len(name) != len(place) + _SUFFIX:
            continue
        at = each["metadata"].get("creationTimestamp") or ""
        times[name] = max(times.get(name, ("", False)), (at, started))
        # Probes that fail have other words, and containers beside end with the others.
        is_of_work = about.get("fieldPath", "").startswith("spec.containers{")
        if is_of_work and each.get("message", "").startswith("Stopping container"):
            killed.add(name)
    if not times:
        return None
    last = max(times, key=lambda name: times[name])
    return EarlyEnd(last, _TOLD if last in killed else "")


def _indexes(text: str) -> Iterator[str]:
    """The indexes in a text such as `1,3-5`."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from map(str, range(int(first), int(last or first) + 1))


def _label(pod: JSONObject, key: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(key, ""))
