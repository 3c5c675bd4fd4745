"""What a driver does next for one TrainJob: the value, and `plan`, which decides it.

Pure. A driver creates, applies, deletes, writes the status and the events, in that order, and calls
again when something changed or `requeue_after` has passed. Rules: reference behaviour 4.2 and 4.5
to 4.9; docs/lifecycle.md.

Of a queued TrainJob also the resources: Kueue 0.19 is built with Kubeflow Trainer 2.2, where resourcesPerNode replaces the runtime's
resources; since 2.3 it is merged with them, and so it is here. What only the runtime sets is in the
pods, and Kueue does not count it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import (
    conditions,
    due_objects,
    events,
    failure_reason,
    foreign_objects,
    status,
    waiting,
)
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.lifecycle.due_objects import DueObjects
from trainer_infra.lifecycle.events import Event
from trainer_infra.lifecycle.status import TrainJobCase
from trainer_infra.render import resolve, runtime_patches, runtime_ref, ttl_seconds_after_finished
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object of the TrainJob's namespace."""

    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do next."""

    create: tuple[JSONObject, ...] = ()
    """Whole objects that are written once, to create where there are none: what they hold is never
    another. In this order, and before `apply`."""
    apply: tuple[JSONObject, ...] = ()
    """Whole objects to apply, in this order."""
    delete: tuple[ObjectRef, ...] = ()
    """Objects to delete: the JobSet past its deadline, or the TrainJob past its TTL."""
    status: JSONObject | None = None
    """The whole new TrainJob status in wire form; None when it did not change."""
    events: tuple[Event, ...] = ()
    waiting: str = ""
    """Why the TrainJob does not go on, for its annotation `names.WAITING`; empty for no reason, and
    where no status is decided."""
    requeue_after: float | None = None
    """Seconds until the next call is needed even if nothing changes; None for never."""


SUCCESSION: Final = 1.0
"""Seconds until it is asked again whether the objects of an earlier TrainJob of this name are gone."""
RETRY: Final = 60.0
"""Seconds until objects that cannot be made are tried again: no event tells that their runtime
was made or changed."""


def plan(
    job: TrainJob,
    runtime: Runtime | None,
    observed: ObservedObjects,
    now: datetime,
    behaviour: Behaviour = OURS,
) -> Plan:
    """What to do next for a TrainJob, which is as stored, with its status; `now` has its zone.

    A TrainJob that another controller manages, and one that is being deleted, gets an empty plan.
    Objects that cannot be rendered are an event and leave the conditions as they are.

    The runtime is the live one that it names, where there is one; a snapshot among the observed objects is used
    instead of it. `behaviour` renders and reports, and says how far it is decided like in the reference.
    """
    seen = observed
    if behaviour.ours(Deviation.OWNER):
        observed = foreign_objects.own_objects(job, seen)
    case = TrainJobCase(job, observed, now, behaviour)
    if _is_left_alone(case):
        return Plan()
    succeeds = case.ours(Deviation.OWNER) and foreign_objects.is_succeeding(job, seen)
    before, stored = status.conditions_before(case), status.stored_conditions(job)
    new = status.decide_status(case)
    after = tuple(new.get("conditions") or ())
    due = DueObjects()
    if not (conditions.is_finished(before) or status.is_overdue(after) or succeeds):
        due = _due_objects(case, runtime, seen)
    left = _seconds_until_ttl(case, runtime, after)
    # Its end is stored before a TrainJob goes.
    expired = conditions.is_finished(stored) and left is not None and left <= 0
    last_event = (events.ttl_expired(),) if expired else ()
    return Plan(
        create=tuple(each for each in due.objects if _is_write_once(each)),
        apply=tuple(each for each in due.objects if not _is_write_once(each)),
        delete=tuple(_deletions(case, before, after, expired=expired)),
        status=None if new == status.stored_status(job) else new,
        events=(
            *_events(case, due, stored, after),
            *_uncounted(case, due, runtime),
            *_without_written_events(case, last_event),
        ),
        waiting=(
            waiting.waiting_sentence(case, after, due.error, succeeds=succeeds)
            if case.ours(Deviation.WAITING)
            else ""
        ),
        requeue_after=_next_look(case, due, after, (left, SUCCESSION if succeeds else None)),
    )


def _due_objects(case: TrainJobCase, runtime: Runtime | None, seen: ObservedObjects) -> DueObjects:
    """The objects to write now: none while a JobSet of another owner is in the place of ours."""
    foreign = foreign_objects.foreign_job_set(case.job, seen)
    if foreign is not None and case.ours(Deviation.OWNER):
        return DueObjects(error=foreign)
    return due_objects.due_objects(case.job, runtime, case.observed, case.behaviour)


def _is_left_alone(case: TrainJobCase) -> bool:
    """Whether nothing is done for the TrainJob."""
    if case.job.spec.managed_by not in (None, names.MANAGED_BY):
        return True
    if not case.ours(Deviation.Q13) and runtime_ref.unsupported_kind(case.job):
        # The reference panics before it writes anything.
        return True
    # What is made now would only be deleted again.
    return case.ours(Deviation.DELETION) and case.job.metadata.deletion_timestamp is not None


def _is_write_once(value: JSONObject) -> bool:
    """Whether it is the runtime snapshot or a Secret, which holds keys that are made at create."""
    name: str = value["metadata"]["name"]
    is_snapshot = value["kind"] == "ConfigMap" and name.endswith(names.SNAPSHOT_SUFFIX)
    return is_snapshot or value["kind"] == "Secret"


def _deletions(
    case: TrainJobCase, before: Conditions, after: Conditions, *, expired: bool
) -> Iterator[ObjectRef]:
    """The JobSet past the deadline, until it is gone; the TrainJob past its TTL.

    The reference deletes the JobSet once and does not look again (Q13).
    """
    name, jobset = case.job.metadata.name, case.observed.jobset
    once = conditions.is_finished(before) and not case.ours(Deviation.Q13)
    stays = jobset is not None and jobset["metadata"].get("deletionTimestamp") is None
    if status.is_overdue(after) and not once and stays:
        yield ObjectRef(names.JOBSET_API_VERSION, names.JOBSET, name)
    if expired:
        yield ObjectRef(names.API_VERSION, names.TRAIN_JOB, name)


def _seconds_until_ttl(
    case: TrainJobCase, runtime: Runtime | None, current: Conditions
) -> float | None:
    """Seconds until a finished TrainJob is deleted, 0 or negative when that is due; None when it stays.

    They count from the condition that ended it. The reference has no such thing.
    """
    ends = (conditions.true_condition(current, kind) for kind in (names.COMPLETE, names.FAILED))
    end = next(filter(None, ends), None)
    if end is None or not case.ours(Deviation.TTL):
        return None
    with suppress(InvalidInput):
        runtime = due_objects.runtime_born_with(case.job, runtime, case.observed)
    seconds = ttl_seconds_after_finished.ttl_seconds(case.job, runtime)
    if seconds is None:
        return None
    ended = conditions.parse_timestamp(end["lastTransitionTime"])
    return (ended + timedelta(seconds=seconds) - case.now).total_seconds()


def _events(
    case: TrainJobCase, due: DueObjects, stored: Conditions, after: Conditions
) -> Iterator[Event]:
    """The reference tells only of objects that it cannot make, on every pass."""
    failed = () if due.error is None else (events.creation_failed(due.error),)
    if not case.ours(Deviation.EVENTS):
        yield from failed
        return
    if case.observed.jobset is None and any(each["kind"] == names.JOBSET for each in due.objects):
        yield events.objects_created(due.objects)
        if case.ours(Deviation.PATCHES):
            yield from events.patch_overridden(runtime_patches.conflict_sentences(case.job))
    yield from events.condition_changes(stored, after)
    yield from _without_written_events(case, failed)
    if not conditions.is_finished(after) and not case.job.spec.suspend:
        reasons = failure_reason.waiting_reasons(case.observed.pods)
        yield from _without_written_events(case, events.pods_waiting(reasons))


def _uncounted(case: TrainJobCase, due: DueObjects, runtime: Runtime | None) -> Iterator[Event]:
    """What Kueue does not count, when the JobSet is made."""
    if case.ours(Deviation.EVENTS) and case.observed.jobset is None and due.objects:
        born_with = due_objects.runtime_born_with(case.job, runtime, case.observed)
        yield from events.resources_uncounted(uncounted_resources(case.job, born_with))


def _without_written_events(case: TrainJobCase, lasting: Iterable[Event]) -> Iterable[Event]:
    """Those events of what lasts longer than a pass that were not written yet."""
    return (
        each for each in lasting if (each.reason, each.message) not in case.observed.events_written
    )


def _next_look(
    case: TrainJobCase, due: DueObjects, after: Conditions, times: tuple[float | None, ...]
) -> float | None:
    left = status.seconds_left(case, after)
    looks = (
        None if left is None else max(left, 1.0),
        *(None if each is None else max(each, 0.0) for each in times),
        None if due.error is None else RETRY,
    )
    return min((each for each in looks if each is not None), default=None)


def uncounted_resources(job: TrainJob, runtime: Runtime) -> tuple[str, ...]:
    """Names of the resources that pods of the trainer have and Kueue does not count."""
    queue = (job.metadata.labels or {}).get(names.KUEUE_QUEUE_LABEL)
    own = job.spec.trainer.resources_per_node if job.spec.trainer else None
    template = runtime.spec.template
    if not queue or not own or runtime.spec.ml_policy is None or template is None:
        return ()
    counted = _names(own)
    containers = resolve.trainer_containers(template.spec or {})
    found = (_names(each.get("resources") or {}) for _, each in containers)
    return tuple(sorted({name for each in found for name in each} - counted))


def _names(resources: Mapping[str, Any]) -> set[str]:
    return {name for part in ("requests", "limits") for name in resources.get(part) or {}}
