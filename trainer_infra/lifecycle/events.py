"""Events of a TrainJob: what a user reads once, when it happens.

An event follows from a change of the conditions, never from a pass. What holds for longer (pods
that wait, objects that cannot be made) is said unless the driver says that it was
(`ObservedObjects.events_written`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions, early_end
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.lifecycle.failure_reason import FailureKind, FailureReason


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth telling the user, as a Kubernetes event has it."""

    type: str
    """`Normal` or `Warning`."""
    reason: str
    """One word, of `names` or a FailureKind."""
    message: str
    """At most 1,024 bytes, the limit of Kubernetes."""


NORMAL: Final = "Normal"
WARNING: Final = "Warning"
LONGEST: Final = 1024
"""Bytes of a message."""
ERROR_LENGTH: Final = 950
"""Characters of an error that an event shows (reference behaviour 4.6)."""


def is_lasting(event: Event) -> bool:
    """Whether it is about what lasts, so that another one of the same words adds nothing."""
    return event.reason == names.EVENT_CREATION_FAILED or event.reason in set(FailureKind)


def condition_changes(before: Conditions, after: Conditions) -> Iterator[Event]:
    """What the difference between two lists of conditions means."""
    held, holds = (conditions.is_true(each, names.SUSPENDED) for each in (before, after))
    if holds and not held:
        yield Event(NORMAL, names.EVENT_SUSPENDED, names.SUSPENDED_MESSAGE)
    if held and not holds:
        yield Event(NORMAL, names.EVENT_RESUMED, names.RESUMED_MESSAGE)
    if conditions.is_finished(before) or not conditions.is_finished(after):
        return
    if conditions.is_true(after, names.COMPLETE):
        complete = conditions.find_condition(after, names.COMPLETE) or {}
        yield _event(NORMAL, names.EVENT_COMPLETE, complete["message"])
    else:
        failed = conditions.find_condition(after, names.FAILED) or {}
        deadline = failed["reason"] == names.DEADLINE_EXCEEDED
        reason = names.EVENT_DEADLINE if deadline else names.EVENT_FAILED
        message = failed["message"] if deadline else f"{failed['reason']}: {failed['message']}"
        yield _event(WARNING, reason, message)


def objects_created(objects: Iterable[JSONObject]) -> Event:
    """The objects of a TrainJob are applied for the first time."""
    listed = ", ".join(f"{each['kind']} {each['metadata']['name']}" for each in objects)
    return _event(NORMAL, names.EVENT_CREATED, f"Applied {listed}")


def creation_failed(error: TrainerInfraError) -> Event:
    """The objects cannot be made; the reference's event."""
    text = str(error)
    shown = text if len(text) <= ERROR_LENGTH else f"{text[:ERROR_LENGTH]} ..."
    message = f"TrainJob resources reconciliation failed: {shown}"
    return _event(WARNING, names.EVENT_CREATION_FAILED, message)


def patch_overridden(sentences: Iterable[str]) -> Iterator[Event]:
    """Two runtime patches set one field."""
    return (_event(WARNING, names.EVENT_PATCH_OVERRIDDEN, each) for each in sentences)


def resources_uncounted(resources: Sequence[str]) -> Iterator[Event]:
    """Kueue counts less than the pods ask for."""
    if resources:
        yield _event(
            WARNING,
            names.EVENT_UNCOUNTED,
            f"Kueue does not count {', '.join(resources)} of the runtime, because resourcesPerNode "
            "sets other resources; set them there too",
        )


def pods_waiting(reasons: Iterable[FailureReason]) -> Iterator[Event]:
    """Pods do not start."""
    return (_event(WARNING, each.kind.value, each.sentence()) for each in reasons)


def ended_early(pod: JSONObject) -> Event:
    """A pod was told to end and ended with 0 while the run goes on."""
    said = early_end.sentence(early_end.told(pod))
    then = "unless all nodes start anew, the TrainJob will not be Complete"
    return _event(WARNING, names.ENDED_EARLY, f"{said}: {then}")


def ttl_expired() -> Event:
    """The finished TrainJob is deleted."""
    return Event(NORMAL, names.EVENT_TTL, "TrainJob is deleted: its TTL has passed since its end")


def _event(kind: str, reason: str, message: str) -> Event:
    whole = message.encode()
    if len(whole) > LONGEST:
        message = f"{whole[: LONGEST - 4].decode(errors='ignore')} ..."
    return Event(kind, reason, message)
