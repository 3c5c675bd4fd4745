"""Containers that cannot start, or that fail again and again, from the statuses of pods."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import failure_reason
from trainer_infra.lifecycle.failure_reason import FailureKind, FailureReason
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.waiting_cause import Cause, Waiting

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
