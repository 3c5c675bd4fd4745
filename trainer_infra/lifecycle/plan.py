"""What a driver does next for one TrainJob: the value, and `plan`, which decides it.

Pure. Called by every driver with what it observed; the driver applies, deletes, writes the status
and the events, in that order, and calls again when something changed or `requeue_after` has passed.
Rules: spec/trainer-behaviour.md sections 4.2 and 4.5 to 4.9; docs/lifecycle.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle import (
    deadline,
    events,
    failure_reason,
    jobs_status,
    objects,
    suspend,
    ttl,
)
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.lifecycle.events import Event
from trainer_infra.lifecycle.failure_reason import FailureReason
from trainer_infra.lifecycle.objects import Made
from trainer_infra.render import patch_conflicts, runtime_ref, ttl_seconds_after_finished
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed import Observed

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object of the TrainJob's namespace."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do next."""

    apply: tuple[JSON, ...] = ()
    """Whole objects to create or apply, in this order."""
    delete: tuple[ObjectRef, ...] = ()
    """Objects to delete: the JobSet past its deadline, or the TrainJob past its TTL."""
    status: JSON | None = None
    """The whole new TrainJob status in wire form; None when it did not change."""
    events: tuple[Event, ...] = ()
    requeue_after: float | None = None
    """Seconds until the next call is needed even if nothing changes; None for never."""


RETRY: Final = 60.0
"""Seconds until objects that cannot be made are tried again: no event tells that their runtime
was made or changed."""
MESSAGE_LENGTH: Final = 32_768
"""Characters that a condition's message may have."""


@dataclass(frozen=True, slots=True)
class _Case:
    """What `plan` was asked."""

    job: TrainJob
    runtime: Runtime | None
    observed: Observed
    now: datetime
    behaviour: Behaviour

    def ours(self, deviation: Deviation) -> bool:
        """Whether that deviation holds."""
        return self.behaviour.ours(deviation)


def plan(
    job: TrainJob,
    runtime: Runtime | None,
    observed: Observed,
    now: datetime,
    behaviour: Behaviour = OURS,
) -> Plan:
    """What to do next for a TrainJob.

    A TrainJob managed by somebody else, and one that is being deleted, gets an empty plan. Objects
    that cannot be rendered are an event and leave the conditions as they are.

    Args:
        job: the TrainJob as stored, with its status.
        runtime: the live runtime that it names, None when there is none; a snapshot among the
            observed objects is used instead of it.
        observed: what is there.
        now: the time, with its zone.
        behaviour: what renders and reports, and how far it is decided like in the reference.
    """
    case = _Case(job, runtime, observed, now, behaviour)
    if _is_left_alone(case):
        return Plan()
    old = job.status.to_wire() if job.status else {}
    stored = tuple(old.get("conditions") or ())
    before = stored if case.ours(Deviation.FAILED) else _cleared(stored)
    made = Made() if of.finished(before) else _made(case)
    status = _status(case, old, _conditions(case, before))
    after = tuple(status.get("conditions") or ())
    made = Made() if _is_overdue(after) else made
    stays = _stays(case, after)
    # Its end is stored before a TrainJob goes.
    expired = of.finished(stored) and stays is not None and stays <= 0
    told = () if not expired else (events.expired(),)
    return Plan(
        apply=made.apply,
        delete=tuple(_deletions(case, before, after, expired=expired)),
        status=None if status == old else status,
        events=(*_events(case, made, stored, after), *_untold(case, told)),
        requeue_after=_next_look(case, made, after, stays),
    )


def _is_left_alone(case: _Case) -> bool:
    """Whether nothing is done for the TrainJob."""
    if case.job.spec.managed_by not in (None, names.MANAGED_BY):
        return True
    if not case.ours(Deviation.Q13) and runtime_ref.unsupported(case.job):
        # The reference panics before it writes anything.
        return True
    # What is made now would only be deleted again.
    return case.ours(Deviation.DELETION) and case.job.metadata.deletion_timestamp is not None


def _cleared(conditions: Conditions) -> Conditions:
    """The conditions from which the reference starts: Failed only stays after a deadline."""
    return conditions if _is_overdue(conditions) else tuple(of.without(conditions, names.FAILED))


def _made(case: _Case) -> Made:
    if runtime_ref.unsupported(case.job):
        return Made()
    return objects.made(case.job, case.runtime, case.observed, case.behaviour)


def _conditions(case: _Case, before: Conditions) -> Conditions:
    """Sections 4.6 to 4.8: unsupported runtime, suspend, the JobSet's end, the deadline."""
    current, now = before, case.now
    unsupported = runtime_ref.unsupported(case.job)
    if unsupported and not of.finished(current):
        failed = of.condition(names.FAILED, names.RUNTIME_NOT_SUPPORTED, unsupported, now)
        current = of.with_condition(current, failed)
    keeps_entry = not case.ours(Deviation.RESUME)
    current = suspend.conditions(case.job, current, now, keeps_entry=keeps_entry)
    ended = jobs_status.conditions(current, case.observed.jobset)
    if ended is not current:
        return _explained(case, ended, failure_reason.first(case.observed.pods))
    left = _left(case, current)
    if left is not None and left < 0:
        message = names.DEADLINE_MESSAGE
        if case.ours(Deviation.FAILURE_REASON):
            message = deadline.message(case.job.spec.active_deadline_seconds or 0)
        failed = of.condition(names.FAILED, names.DEADLINE_EXCEEDED, message, now)
        waiting = failure_reason.waiting(case.observed.pods)
        current = _explained(
            case, of.with_condition(current, failed), waiting[0] if waiting else None
        )
    return current


def _explained(case: _Case, current: Conditions, why: FailureReason | None) -> Conditions:
    """The conditions with the reason of a pod added to the Failed message."""
    failed = of.find(current, names.FAILED)
    if failed is None or why is None or not case.ours(Deviation.FAILURE_REASON):
        return current
    message = f"{failed['message']}; {why.sentence()}"[:MESSAGE_LENGTH]
    return of.with_condition(current, {**failed, "message": message})


def _left(case: _Case, current: Conditions) -> float | None:
    jobset, by_own = case.observed.jobset, not case.ours(Deviation.RESUME)
    return deadline.remaining(case.job, current, jobset, case.now, by_own_condition=by_own)


def _status(case: _Case, old: JSON, current: Conditions) -> JSON:
    """The whole status: ours, then what each plugin makes of it; trainerStatus stays."""
    status: JSON = {**old, "conditions": list(current)}
    if not current and "conditions" not in old:
        status = dict(old)
    if case.observed.jobset is not None:
        jobs = jobs_status.jobs_status(case.observed.jobset)
        without = {key: value for key, value in status.items() if key != "jobsStatus"}
        # A status must not be empty: then the counts stay until the JobSet has some.
        status = {**without, "jobsStatus": jobs} if jobs else without or status
    for plugin in case.behaviour.plugins:
        if plugin.status is not None:
            status = plugin.status(case.job, status, case.observed)
    return status


def _is_overdue(current: Conditions) -> bool:
    failed = of.find(current, names.FAILED)
    return failed is not None and failed["reason"] == names.DEADLINE_EXCEEDED


def _deletions(
    case: _Case, before: Conditions, after: Conditions, *, expired: bool
) -> Iterator[ObjectRef]:
    """The JobSet past the deadline, until it is gone; the TrainJob past its TTL.

    The reference deletes the JobSet once and does not look again (Q13).
    """
    name, jobset = case.job.metadata.name, case.observed.jobset
    once = of.finished(before) and not case.ours(Deviation.Q13)
    if _is_overdue(after) and not once and jobset is not None:
        going = jobset["metadata"].get("deletionTimestamp") is not None
        if not going:
            yield ObjectRef(names.JOBSET_API_VERSION, names.JOBSET, name)
    if expired:
        yield ObjectRef(names.API_VERSION, names.TRAIN_JOB, name)


def _stays(case: _Case, current: Conditions) -> float | None:
    """Seconds until a finished TrainJob is deleted; None when it stays."""
    if not case.ours(Deviation.TTL) or not of.finished(current):
        return None
    runtime = case.runtime
    with suppress(InvalidInput):
        runtime = objects.runtime_of(case.job, case.runtime, case.observed)
    seconds = ttl_seconds_after_finished.seconds(case.job, runtime)
    return ttl.remaining(seconds, current, case.now)


def _events(case: _Case, made: Made, stored: Conditions, after: Conditions) -> Iterator[Event]:
    """The reference tells only of objects that it cannot make, on every pass."""
    failed = () if made.error is None else (events.creation_failed(made.error),)
    if not case.ours(Deviation.EVENTS):
        yield from failed
        return
    if case.observed.jobset is None and any(each["kind"] == names.JOBSET for each in made.apply):
        yield events.created(made.apply)
        if case.ours(Deviation.PATCHES):
            yield from events.overridden(patch_conflicts.sentences(case.job))
    yield from events.of_change(stored, after)
    yield from _untold(case, failed)
    if not of.finished(after) and not case.job.spec.suspend:
        waiting = failure_reason.waiting(case.observed.pods)
        yield from _untold(case, events.waiting(waiting))


def _untold(case: _Case, lasting: Iterable[Event]) -> Iterable[Event]:
    """Those events of what lasts longer than a pass that were not written yet."""
    return (each for each in lasting if (each.reason, each.message) not in case.observed.told)


def _next_look(case: _Case, made: Made, after: Conditions, stays: float | None) -> float | None:
    left = _left(case, after)
    looks = (
        None if left is None else max(left, 1.0),
        None if stays is None else max(stays, 0.0),
        None if made.error is None else RETRY,
    )
    return min((each for each in looks if each is not None), default=None)
