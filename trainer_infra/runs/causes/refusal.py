"""Objects that the API server refuses to a controller: the event, and what of it is the cause.

JobSet says so of Jobs, of its Service and of claims, the Job controller of pods; both try again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from trainer_infra.api import quantity
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.causes.surroundings import began_at
from trainer_infra.runs.waiting_cause import Cause, Waiting

JOB: Final = "JobCreationFailed"
POD: Final = "FailedCreate"
REASONS: Final[Mapping[str, str]] = {
    JOB: "Jobs of {step}",
    "HeadlessServiceCreationFailed": "the Service of its JobSet",
    "PVCCreationFailed": "claims of its JobSet",
    POD: "pods of {step}",
}
"""Reasons of events that say so, with what it is that cannot be made."""

CAUSES: Final = (
    ("exceeded quota", Cause.QUOTA_USED_UP),
    ("failed quota", Cause.QUOTA_UNANSWERED),
    ("error looking up service account", Cause.SERVICE_ACCOUNT_MISSING),
    ("no PriorityClass with name", Cause.PRIORITY_CLASS_MISSING),
    ('RuntimeClass "[^"]*" not found', Cause.RUNTIME_CLASS_MISSING),
    ("violates PodSecurity", Cause.POD_SECURITY),
    ("(?:maximum|minimum) .* usage per|limit to request ratio per", Cause.LIMIT_RANGE),
    ("expected, transient error", Cause.EARLIER_STEP),
    ("already exists", Cause.NAME_TAKEN),
    ("failed calling webhook|[Ii]nternal error occurred", Cause.WEBHOOK_UNAVAILABLE),
    ("denied the request|denied request", Cause.POLICY),
    ("is invalid:", Cause.INVALID),
)
"""What tells in the API server's sentence what refused; the first that is there."""

_HEADS: Final = (
    re.compile(r'job "[^"]*" creation failed with error: '),
    re.compile(r"Error creating: "),
)
"""What a controller writes before the API server's sentence."""
# `exceeded quota: q, requested: pods=1,requests.cpu=2, used: pods=1,…, limited: pods=1,…`
_EXCEEDED: Final = re.compile(
    r"exceeded quota: \S+, requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)"
)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a step needs at the same time."""

    step: str
    jobs: int
    pods: int


def waiting_after_refusal(event: JSONObject, needs: Needs) -> Waiting:
    """What a run waits for after a refusal."""
    said = str(event["message"])
    for each in _HEADS:
        said = each.sub("", said)
    cause = next((kind for text, kind in CAUSES if re.search(text, said)), Cause.NOT_CREATED)
    count = needs.pods if event["reason"] == POD else needs.jobs
    if cause is Cause.QUOTA_USED_UP and is_too_small(said, count):
        cause = Cause.QUOTA_TOO_SMALL
        said += f" (the run needs {count} at a time)" if count > 1 else ""
    what = REASONS[event["reason"]].format(step=needs.step)
    return Waiting(cause, f"{what} cannot be made: {said}", began_at(event))


def is_too_small(said: str, count: int) -> bool:
    """Whether a quota has no place for so many such objects even when nothing else uses it.

    Args:
        said: the API server's sentence about one object.
        count: objects like it that are needed at a time.
    """
    found = _EXCEEDED.search(said)
    if found is None:
        return False
    requested, limited = _amounts(found["requested"]), _amounts(found["limited"])
    return any(
        requested[name] * count > limited[name] for name in requested.keys() & limited.keys()
    )


def _amounts(text: str) -> dict[str, Decimal]:
    pairs = (each.partition("=") for each in text.split(","))
    return {name: quantity.parse_quantity(amount) for name, _, amount in pairs if amount}
