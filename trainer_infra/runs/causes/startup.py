"""Pods that have a node and whose containers are being made: what the kubelet says of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.causes.containers import OBJECT_MISSING
from trainer_infra.runs.causes.surroundings import began_at, events_about
from trainer_infra.runs.waiting_cause import Cause, Waiting

STARTING: Final = ("ContainerCreating", "PodInitializing")
"""Reasons for which every container waits a while."""
CAUSES: Final[Mapping[str, Cause]] = {
    "FailedMount": Cause.MOUNT,
    "FailedAttachVolume": Cause.MOUNT,
    "FailedCreatePodSandBox": Cause.SANDBOX,
    "Pulling": Cause.IMAGE_PULLED,
}
"""Reasons of events that say why a container is not made yet."""


def starting_pods(pods: Iterable[JSONObject], events: Sequence[JSONObject]) -> Iterator[Waiting]:
    """What pods that start wait for."""
    for pod in pods:
        if is_starting(pod):
            yield _of_pod(pod, events)


def is_starting(pod: JSONObject) -> bool:
    """Whether it has a node and its containers are being made."""
    if not pod_facts.node_of(pod) or pod_facts.is_over(pod):
        return False
    states = (each.get("state") or {} for each in pod_facts.container_statuses(pod))
    reasons = {(each.get("waiting") or {}).get("reason") for each in states}
    return bool(reasons & set(STARTING)) or not pod_facts.container_statuses(pod)


def _of_pod(pod: JSONObject, events: Sequence[JSONObject]) -> Waiting:
    name = pod["metadata"]["name"]
    for container in (pod.get("status") or {}).get("initContainerStatuses") or ():
        if "running" in (container.get("state") or {}) and not pod_facts.is_sidecar(
            pod, container["name"]
        ):
            sentence = f"init container {container['name']} of pod {name}, which runs"
            return Waiting(Cause.INITIALIZING, sentence)
    told = [each for each in events_about(events, "Pod", name) if each["reason"] in CAUSES]
    if not told:
        return Waiting(Cause.STARTING, f"containers of pod {name} are being made")
    last = told[-1]
    if last["reason"] == "Pulling":
        sentence = f"{last['message'][:1].lower()}{last['message'][1:]} for pod {name}"
        return Waiting(Cause.IMAGE_PULLED, sentence)
    cause = CAUSES[last["reason"]]
    if OBJECT_MISSING.search(last["message"]):
        cause = Cause.OBJECT_MISSING
    return Waiting(cause, f"pod {name}: {last['message']}", began_at(last))
