"""What a driver does next for one TrainJob: the value, and `plan`, which decides it.

Pure. Called by every driver with what it observed; the driver applies, deletes and writes the
status, in that order, and calls again when something changed or `requeue_after` has passed.
Rules: spec/trainer-behaviour.md section 4.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object of the TrainJob's namespace."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something worth telling the user, as a Kubernetes event has it."""

    type: str
    """`Normal` or `Warning`."""
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Observed:
    """What the driver sees of one TrainJob's world."""

    jobset: JSON | None
    """The JobSet named as the TrainJob, with its status; None when there is none."""
    snapshot: JSON | None = None
    """The runtime snapshot ConfigMap; None when there is none."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do next."""

    apply: tuple[JSON, ...] = ()
    """Whole objects to create or apply, in this order."""
    delete: tuple[ObjectRef, ...] = ()
    """Objects to delete."""
    status: JSON | None = None
    """The whole new TrainJob status in wire form; None when it did not change."""
    events: tuple[Event, ...] = ()
    requeue_after: float | None = None
    """Seconds until the next call is needed even if nothing changes; None for never."""
