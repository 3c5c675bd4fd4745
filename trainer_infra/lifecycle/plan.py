"""What a driver does next for one TrainJob: the value, and `plan`, which decides it.

Pure. Called by every driver with what it observed; the driver applies, deletes and writes the
status, in that order, and calls again when something changed or `requeue_after` has passed.
Rules: spec/trainer-behaviour.md section 4.6.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle import deadline, jobs_status, suspend
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.render import owner, pipeline
from trainer_infra.render import snapshot as runtime_snapshot
from trainer_infra.render.observed import Observed

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


EVENT_LENGTH: Final = 950
"""Characters of an error that an event shows (section 4.6, step 3)."""


def plan(
    job: TrainJob,
    runtime: Runtime,
    observed: Observed,
    now: datetime,
    *,
    like_reference: bool = False,
) -> Plan:
    """What to do next for a TrainJob.

    `runtime` is the live runtime; a snapshot among the observed objects is used instead of it. A
    TrainJob managed by somebody else gets an empty plan. Objects that cannot be rendered are an
    event and leave the conditions as they are.
    """
    if job.spec.managed_by not in (None, names.MANAGED_BY):
        return Plan()
    old = job.status.to_wire() if job.status else {}
    current: Conditions = old.get("conditions") or ()
    apply: tuple[JSON, ...] = ()
    if not of.finished(current):
        try:
            apply = _objects(job, runtime, observed, like_reference=like_reference)
        except InvalidInput as error:
            return Plan(events=(_creation_failed(error),))
    current = suspend.conditions(job, current, now, like_reference=like_reference)
    current = jobs_status.conditions(current, observed.jobset)
    left = deadline.remaining(job, current, observed.jobset, now)
    if left is not None and left <= 0:
        failed = of.condition(names.FAILED, names.DEADLINE_EXCEEDED, names.DEADLINE_MESSAGE, now)
        current, apply, left = of.with_condition(current, failed), (), None
    status = _status(old, current, observed)
    return Plan(
        apply=apply,
        delete=_overdue(job, current, observed),
        status=None if status == old else status,
        requeue_after=left,
    )


def _objects(
    job: TrainJob, runtime: Runtime, observed: Observed, *, like_reference: bool
) -> tuple[JSON, ...]:
    """The snapshot once, and the JobSet unless it runs: a running JobSet is never updated."""
    if observed.snapshot is None:
        first: tuple[JSON, ...] = (owner.owned(runtime_snapshot.config_map(job, runtime), job),)
    else:
        first, runtime = (), runtime_snapshot.runtime(job, observed.snapshot)
    objects = pipeline.due(job, runtime, observed, like_reference=like_reference)
    return (*first, *objects)


def _status(old: JSON, current: Conditions, observed: Observed) -> JSON:
    status = dict(old)
    if current or "conditions" in old:
        status["conditions"] = list(current)
    jobs = jobs_status.jobs_status(observed.jobset)
    if jobs is not None:
        status["jobsStatus"] = jobs
    return status


def _overdue(job: TrainJob, current: Conditions, observed: Observed) -> tuple[ObjectRef, ...]:
    """The JobSet of a job past its deadline, as long as it is there.

    The reference deletes it once and does not look again (Q13).
    """
    failed = of.find(current, names.FAILED)
    if observed.jobset is None or failed is None or failed["reason"] != names.DEADLINE_EXCEEDED:
        return ()
    return (ObjectRef(names.JOBSET_API_VERSION, "JobSet", job.metadata.name or ""),)


def _creation_failed(error: InvalidInput) -> Event:
    text = str(error)
    shown = text if len(text) <= EVENT_LENGTH else f"{text[:EVENT_LENGTH]} ..."
    return Event(
        "Warning",
        "TrainJobResourcesCreationFailed",
        f"TrainJob resources reconciliation failed: {shown}",
    )
