"""What a run waits for: Kueue, a place, an image, another step. Pure.

Called by `run_status` for a run that has not ended; the first reason found is the one shown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.cluster import pods as of_pods
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle import failure_reason
from trainer_infra.lifecycle.failure_reason import FailureKind

JSON = Mapping[str, Any]

STARTING: Final = ("ContainerCreating", "PodInitializing")
"""Reasons for which every container waits a while."""
_TELLING: Final = ("FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox", "Pulling")
"""Reasons of events that say why a container is not made yet."""


@dataclass(frozen=True, slots=True)
class Around:
    """What else is known, where somebody looks at one run alone."""

    events: Sequence[JSON] = ()
    """Events of the pods that start, or of Jobs whose pods are not made, oldest first."""
    workload: JSON | None = None
    """Kueue's Workload of the JobSet."""


def waiting_for(jobset: JSON, pods: Sequence[JSON], around: Around) -> str:
    """One clause, or empty when the run waits for nothing."""
    if "deletionTimestamp" in jobset["metadata"]:
        return "it is being deleted"
    if (jobset["spec"] or {}).get("suspend"):
        return _kueue(jobset, around.workload)
    reasons = (*_tries(pods), *_starts(pods, around.events), *_missing(jobset, pods, around))
    return next(iter(reasons), "")


def queue(jobset: JSON) -> str:
    """Kueue's queue of the JobSet; empty without one."""
    return str((jobset["metadata"].get("labels") or {}).get(names.KUEUE_QUEUE_LABEL, ""))


def is_starting(pod: JSON) -> bool:
    """Whether it has a node and its containers are being made."""
    waits = (each.get("state", {}).get("waiting") or {} for each in of_pods.containers(pod))
    reasons = {each.get("reason") for each in waits}
    return bool(of_pods.node(pod)) and bool(reasons & set(STARTING))


def _kueue(jobset: JSON, workload: JSON | None) -> str:
    name = queue(jobset)
    if not name:
        return "somebody suspended its JobSet"
    conditions = ((workload or {}).get("status") or {}).get("conditions") or ()
    reserved = of.find(conditions, "QuotaReserved")
    said = f": {reserved['message']}" if reserved and reserved.get("message") else ""
    return f"admission by Kueue to queue {name}{said}"


def _tries(pods: Iterable[JSON]) -> Iterator[str]:
    for each in failure_reason.waiting(pods):
        if each.kind == FailureKind.UNSCHEDULABLE:
            yield f"a place for pod {each.pod}: {each.message}"
        elif each.kind == FailureKind.CRASH_LOOP:
            yield f"the next try of {each.sentence()}"


def _starts(pods: Sequence[JSON], events: Sequence[JSON]) -> Iterator[str]:
    starting = [each for each in pods if is_starting(each)]
    for pod in starting:
        name = pod["metadata"]["name"]
        told = [
            each
            for each in events
            if each["involvedObject"].get("name") == name and each["reason"] in _TELLING
        ]
        if told and told[-1]["reason"] == "Pulling":
            yield f"{_lower(told[-1]['message'])} for pod {name}"
        elif told:
            yield f"pod {name}: {told[-1]['message']}"
    if starting:
        yield f"containers of pod {starting[0]['metadata']['name']} are being made"


def _missing(jobset: JSON, pods: Sequence[JSON], around: Around) -> Iterator[str]:
    """Steps that have no pod yet."""
    begun = {of_pods.step(each) for each in pods}
    missing = [
        each for each in jobset["spec"].get("replicatedJobs") or () if each["name"] not in begun
    ]
    for step in missing:
        failed = [each for each in around.events if each["reason"] == "FailedCreate"]
        if step.get("dependsOn"):
            others = ", ".join(each["name"] for each in step["dependsOn"])
            yield f"{step['name']} waits for {others}"
        elif failed:
            yield f"pods of {step['name']} cannot be made: {failed[-1]['message']}"
        else:
            yield f"pods of {step['name']} are being made"


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
