"""Why pods failed or do not start: typed reasons read from their status.

Pods are Kubernetes' own objects in wire form; the reasons are those that the kubelet, the scheduler
and the controllers of Kubernetes 1.34 write there.
"""

import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions


class FailureKind(StrEnum):
    """What kind of thing happened; also the reason of the event that tells it."""

    OUT_OF_MEMORY = "OutOfMemory"
    """The kernel ended a container that needed more memory than its limit."""
    PREEMPTED = "Preempted"
    """The scheduler made room for pods of a higher priority."""
    EVICTED = "Evicted"
    """A drain, or a node short of memory or disk or shutting down, ended the pod."""
    NODE_LOST = "NodeLost"
    """The pod's node is gone or does not answer."""
    EXIT_CODE = "ContainerFailed"
    """A container ended by itself with an exit code other than 0."""
    CRASH_LOOP = "CrashLoop"
    """A container fails again and again; the kubelet waits before the next try."""
    IMAGE_PULL = "ImagePullFailed"
    """A container's image cannot be had."""
    CANNOT_START = "ContainerCannotStart"
    """A container cannot be made, for example because a Secret that it names is missing."""
    UNSCHEDULABLE = "Unschedulable"
    """No node has a place for the pod."""


@dataclass(frozen=True, slots=True)
class FailureReason:
    """Why one pod failed or does not start."""

    kind: FailureKind
    pod: str
    """Name of the pod."""
    container: str = ""
    """Name of the container; empty when it is about the whole pod."""
    exit_code: int | None = None
    """Exit code of the container, 128+n for signal n; None when it never ran."""
    message: str = ""
    """What Kubernetes or the container itself said; may be empty."""

    def sentence(self) -> str:
        """One line for a condition or an event, without a full stop."""
        words = _WORDS[self.kind].format(container=self.container)
        code = "" if self.exit_code is None else f" with exit code {self.exit_code}"
        why = "" if self.kind == FailureKind.OUT_OF_MEMORY else exit_code_meaning(self.exit_code)
        # The message on one line; of a long one the end, where a traceback names the error.
        line = " ".join(self.message.split())
        said = line if len(line) <= MESSAGE_LENGTH else f"…{line[-MESSAGE_LENGTH:]}"
        parts = (f"pod {self.pod}: {words}{code}", why, said)
        return ": ".join(part for part in parts if part)


MESSAGE_LENGTH: Final = 500
"""Characters of what Kubernetes or a container said that a sentence shows."""

_WORDS: Final[Mapping[FailureKind, str]] = {
    FailureKind.OUT_OF_MEMORY: "container {container} ran out of memory and was ended",
    FailureKind.PREEMPTED: "preempted for a pod of higher priority",
    FailureKind.EVICTED: "evicted from its node",
    FailureKind.NODE_LOST: "its node was lost",
    FailureKind.EXIT_CODE: "container {container} ended",
    FailureKind.CRASH_LOOP: "container {container} fails again and again, last",
    FailureKind.IMAGE_PULL: "the image of container {container} cannot be pulled",
    FailureKind.CANNOT_START: "container {container} cannot start",
    FailureKind.UNSCHEDULABLE: "no node has a place for it",
}
_CODES: Final = {
    126: "the command cannot be executed",
    127: "the command was not found",
    130: "interrupted (SIGINT)",
    132: "an instruction that this processor does not have (SIGILL)",
    134: "the program aborted itself (SIGABRT)",
    135: "a bus error (SIGBUS), commonly for a full /dev/shm",
    136: "an arithmetic error (SIGFPE)",
    137: "killed (SIGKILL), commonly for memory: let it use less, or give it more",
    139: "a segmentation fault (SIGSEGV), commonly in the native code of a library",
    143: "asked to end from outside (SIGTERM)",
}
"""What an exit code means, where it means something in general."""
_BY_SIGNAL: Final = 128


def exit_code_meaning(code: int | None) -> str:
    """What an exit code means in general; empty where that is the program's own affair."""
    if code in _CODES:
        return _CODES[code]
    try:
        return f"ended by {signal.Signals((code or 0) - _BY_SIGNAL).name}"
    except ValueError:
        return ""


_DISRUPTIONS: Final = {
    "PreemptionByScheduler": FailureKind.PREEMPTED,
    "DeletionByTaintManager": FailureKind.NODE_LOST,
    "DeletionByPodGC": FailureKind.NODE_LOST,
    "EvictionByEvictionAPI": FailureKind.EVICTED,
    "TerminationByKubelet": FailureKind.EVICTED,
}
"""Reasons of a pod's condition DisruptionTarget."""
_POD_REASONS: Final = {
    "Evicted": FailureKind.EVICTED,
    "Terminated": FailureKind.EVICTED,
    "NodeShutdown": FailureKind.EVICTED,
    "Shutdown": FailureKind.EVICTED,
    "Preempting": FailureKind.PREEMPTED,
    "NodeLost": FailureKind.NODE_LOST,
}
"""Values of a pod's status.reason."""
_WAITING: Final = {
    **dict.fromkeys(
        (
            "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "RegistryUnavailable",
            "ImageInspectError", "SignatureValidationFailed",
        ),
        FailureKind.IMAGE_PULL,
    ),
    **dict.fromkeys(
        (
            "CreateContainerConfigError", "CreateContainerError", "PreStartHookError", "PostStartHookError",
            "RunContainerError",
        ),
        FailureKind.CANNOT_START,
    ),
    "CrashLoopBackOff": FailureKind.CRASH_LOOP,
}  # fmt: skip
"""Reasons for which a container waits, other than those of every start."""
_START_ERRORS: Final = ("StartError", "ContainerCannotRun")
FROM_OUTSIDE: Final = (137, 143)
"""Exit codes of containers that are often ended because another one failed."""
_NEVER: Final = "9999"
"""Sorts behind every time."""


def first_failure(pods: Iterable[JSONObject]) -> FailureReason | None:
    """Why pods failed: the reason of the one that did so first, else of one that cannot start.

    A pod that failed goes before one that was restarted; at the same second what Kubernetes did
    goes before what a program did, and that before programs that were ended from outside.
    """
    pods = tuple(pods)
    ended = sorted((each for pod in pods for each in _ended(pod)), key=lambda each: each[0])
    if ended:
        return ended[0][1]
    return next(iter(waiting_reasons(pods)), None)


def failures(pods: Iterable[JSONObject]) -> Iterator[tuple[str, FailureReason]]:
    """Each reason for which pods failed, with its time, which is after all others where none is known."""
    yield from ((order[1], reason) for pod in pods for order, reason in _ended(pod))


def waiting_reasons(pods: Iterable[JSONObject]) -> tuple[FailureReason, ...]:
    """Why pods do not start: one reason of each kind, of the first such pod by name."""
    found: dict[FailureKind, FailureReason] = {}
    for pod in sorted(pods, key=_name):
        for each in _waits(pod):
            found.setdefault(each.kind, each)
    return tuple(found.values())


def _ended(pod: JSONObject) -> Iterator[tuple[tuple[Any, ...], FailureReason]]:
    """The reasons for which a pod failed, each with what sorts it."""
    status, name = _status(pod), _name(pod)
    if status.get("phase") == "Succeeded":
        return
    if disruption := conditions.true_condition(_conditions(pod), "DisruptionTarget"):
        kind = _DISRUPTIONS.get(disruption.get("reason", ""), FailureKind.EVICTED)
        time = disruption.get("lastTransitionTime") or _NEVER
        reason = FailureReason(kind, name, message=disruption.get("message", ""))
        yield (False, time, 0, name), reason
    elif status.get("reason") in _POD_REASONS:
        kind = _POD_REASONS[status["reason"]]
        reason = FailureReason(kind, name, message=status.get("message", ""))
        yield (False, _NEVER, 0, name), reason
    else:
        for container in _containers(pod):
            yield from _terminated(container, name, restarted=status.get("phase") != "Failed")


def _terminated(
    container: JSONObject, pod: str, *, restarted: bool
) -> Iterator[tuple[tuple[Any, ...], FailureReason]]:
    state = (container.get("state") or {}).get("terminated")
    state = state or (container.get("lastState") or {}).get("terminated") or {}
    code = state.get("exitCode", 0)
    if code == 0:
        return
    kind = FailureKind.EXIT_CODE
    if state.get("reason") == "OOMKilled":
        kind = FailureKind.OUT_OF_MEMORY
    elif state.get("reason") in _START_ERRORS:
        kind = FailureKind.CANNOT_START
    elif ((container.get("state") or {}).get("waiting") or {}).get("reason") == "CrashLoopBackOff":
        kind = FailureKind.CRASH_LOOP
    reason = FailureReason(kind, pod, container["name"], code, state.get("message", ""))
    rank = 0 if kind == FailureKind.OUT_OF_MEMORY else 2 if code in FROM_OUTSIDE else 1
    yield (restarted, state.get("finishedAt") or _NEVER, rank, pod), reason


def _waits(pod: JSONObject) -> Iterator[FailureReason]:
    if _status(pod).get("phase") not in {"Pending", "Running", None}:
        return
    name = _name(pod)
    scheduled = conditions.find_condition(_conditions(pod), "PodScheduled")
    if scheduled is not None and scheduled.get("reason") == FailureKind.UNSCHEDULABLE:
        message = scheduled.get("message", "")
        yield FailureReason(FailureKind.UNSCHEDULABLE, name, message=message)
    for container in _containers(pod):
        state = (container.get("state") or {}).get("waiting") or {}
        kind = _WAITING.get(state.get("reason", ""))
        if kind is not None:
            last = (container.get("lastState") or {}).get("terminated") or {}
            code = last.get("exitCode") if kind == FailureKind.CRASH_LOOP else None
            # A crash loop's own text is only how long the kubelet waits.
            said = last.get("message", "") if code is not None else state.get("message", "")
            yield FailureReason(kind, name, container["name"], code, said)


def _containers(pod: JSONObject) -> Sequence[JSONObject]:
    status = _status(pod)
    return (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))


def _conditions(pod: JSONObject) -> Sequence[JSONObject]:
    return _status(pod).get("conditions") or ()


def _status(pod: JSONObject) -> JSONObject:
    return pod.get("status") or {}


def _name(pod: JSONObject) -> str:
    return str(pod["metadata"]["name"])
