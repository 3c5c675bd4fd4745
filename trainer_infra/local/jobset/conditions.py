"""The conditions of a JobSet: what they hold and how one replaces another.

Rules of JobSet v0.12: `lastTransitionTime` moves with `status` only; a condition that would be new
and False is not added; one of the two startup conditions going True turns the other False.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from trainer_infra import names
from trainer_infra.json_values import JSONObject

_EXCLUSIVE = {
    names.JOBSET_STARTUP_IN_PROGRESS: names.JOBSET_STARTUP_COMPLETED,
    names.JOBSET_STARTUP_COMPLETED: names.JOBSET_STARTUP_IN_PROGRESS,
}


@dataclass(frozen=True, slots=True)
class JobSetCondition:
    """One condition, in the fields of metav1.Condition."""

    type: str
    status: bool
    reason: str
    message: str
    since: datetime
    """`lastTransitionTime`."""

    def to_wire(self) -> JSONObject:
        """The condition as it stands in a status."""
        return {
            "type": self.type,
            "status": "True" if self.status else "False",
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": self.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


def put_condition(
    conditions: tuple[JobSetCondition, ...], new: JobSetCondition
) -> tuple[JobSetCondition, ...]:
    """The conditions with `new` among them, in the order in which their types appeared."""
    if all(old.type != new.type for old in conditions):
        return (*_without_exclusive(conditions, new), new) if new.status else conditions
    return tuple(
        _updated(old, new) if old.type == new.type else old
        for old in _without_exclusive(conditions, new)
    )


def _updated(old: JobSetCondition, new: JobSetCondition) -> JobSetCondition:
    return new if old.status != new.status else replace(new, since=old.since)


def _without_exclusive(
    conditions: tuple[JobSetCondition, ...], new: JobSetCondition
) -> tuple[JobSetCondition, ...]:
    excluded = _EXCLUSIVE.get(new.type) if new.status else None
    return tuple(replace(old, status=False) if old.type == excluded else old for old in conditions)
