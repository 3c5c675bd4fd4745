"""status.conditions: reading and setting conditions of a TrainJob or a JobSet in wire form.

A condition is {type, status, reason, message, lastTransitionTime}; a list has one per type.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from trainer_infra import names
from trainer_infra.json_values import JSONObject

Conditions = Sequence[JSONObject]


def find_condition(conditions: Conditions, kind: str) -> JSONObject | None:
    """The condition of that type."""
    return next((each for each in conditions if each["type"] == kind), None)


def true_condition(conditions: Conditions, kind: str) -> JSONObject | None:
    """The condition of that type, where it is True."""
    found = find_condition(conditions, kind)
    return found if found is not None and found["status"] == "True" else None


def is_true(conditions: Conditions, kind: str) -> bool:
    """Whether the condition of that type is there and True."""
    return true_condition(conditions, kind) is not None


def is_finished(conditions: Conditions) -> bool:
    """Whether a TrainJob with these conditions is Complete or Failed."""
    return is_true(conditions, names.COMPLETE) or is_true(conditions, names.FAILED)


def with_condition(conditions: Conditions, new: JSONObject) -> tuple[JSONObject, ...]:
    """The list with `new` in place of the one of its type; its time stays when its status does."""
    old = find_condition(conditions, new["type"])
    if old is None:
        return (*conditions, new)
    if old["status"] == new["status"]:
        new = {**new, "lastTransitionTime": old["lastTransitionTime"]}
    return tuple(new if each is old else each for each in conditions)


def without_condition(conditions: Conditions, kind: str) -> tuple[JSONObject, ...]:
    """The list without the condition of that type."""
    return tuple(each for each in conditions if each["type"] != kind)


def new_condition(
    kind: str, reason: str, message: str, now: datetime, *, status: bool = True
) -> JSONObject:
    """A new condition in wire form."""
    return {
        "type": kind,
        "status": str(status),
        "reason": reason,
        "message": message,
        "lastTransitionTime": timestamp(now),
    }


def timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with whole seconds, as Kubernetes writes times."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime:
    """The inverse of `timestamp`."""
    return datetime.fromisoformat(text)
