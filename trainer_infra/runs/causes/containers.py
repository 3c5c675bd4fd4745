"""Containers that cannot start, or that fail again and again, from the statuses of pods."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import failure_reason
from trainer_infra.lifecycle.failure_reason import FailureKind, FailureReason
from trainer_infra.runs import pods as pod_facts
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
OBJECT_MISSING: Final = re.compile(
    r'(?:secrets?|configmaps?) "[^"]*" not found|couldn\'t find key .* in (?:Secret|ConfigMap)'
)
"""What the kubelet says of a Secret or a ConfigMap that it needs and that is not there."""


def waiting_containers(pods: Sequence[JSONObject]) -> Iterator[Waiting]:
    """What containers of pods that have not ended wait for."""
    for pod in pods:
        if pod_facts.is_over(pod):
            continue
        for reason in failure_reason.waiting_reasons((pod,)):
            if reason.kind == FailureKind.IMAGE_PULL:
                yield Waiting(Cause.IMAGE, reason.sentence())
            elif reason.kind == FailureKind.CANNOT_START:
                is_missing = OBJECT_MISSING.search(reason.message)
                cause = Cause.OBJECT_MISSING if is_missing else Cause.CONTAINER_CANNOT_START
                yield Waiting(cause, reason.sentence())
        keepers = pod_facts.keepers_of(pod)
        for container in pod_facts.container_statuses(pod):
            if keepers is None or container["name"] != keepers.main:
                yield from _crash_loop(pod, container)
    yield from kept_pods(pods)


def kept_pods(pods: Iterable[JSONObject]) -> Iterator[Waiting]:
    """Pods whose work has ended, and in which another container goes on."""
    for pod in pods:
        if keepers := pod_facts.keepers_of(pod):
            yield Waiting(Cause.SIDE_CONTAINER, f"pod {pod_facts.name(pod)}: {keepers.sentence()}")


def _crash_loop(pod: JSONObject, container: JSONObject) -> Iterator[Waiting]:
    """A container that failed and is not back, or an initializing one that failed before."""
    state, last = container.get("state") or {}, container.get("lastState") or {}
    ended = state.get("terminated") or last.get("terminated") or {}
    if ended.get("exitCode", 0) == 0:
        return
    endless = pod_facts.is_sidecar(pod, container["name"]) and not _is_counted(pod)
    if "running" in state and not (endless and _is_initializing(pod)):
        return
    code, said = ended["exitCode"], ended.get("message", "")
    reason = FailureReason(
        FailureKind.CRASH_LOOP, pod["metadata"]["name"], container["name"], code, said
    )
    if not endless:
        yield Waiting(Cause.CRASH_LOOP, f"the next try of {reason.sentence()}")
    elif _is_initializing(pod):
        restarts = container.get("restartCount", 0)
        sentence = f"{reason.sentence()}; it was started again {restarts} times"
        yield Waiting(Cause.SIDECAR_CRASH_LOOP, sentence)


def _is_counted(pod: JSONObject) -> bool:
    """Whether the Job counts restarts of containers: with restartPolicy OnFailure it does."""
    return (pod.get("spec") or {}).get("restartPolicy") == "OnFailure"


def _is_initializing(pod: JSONObject) -> bool:
    """Whether none of its regular containers has started."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return all("waiting" in (each.get("state") or {}) for each in statuses)


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
