"""The objects of a TrainJob that are written now: the runtime snapshot once, then what is due.

Rules: reference behaviour 4.2 and 4.5.
"""

from dataclasses import dataclass

from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import child_metadata, pipeline, runtime_ref, snapshot
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects


@dataclass(frozen=True, slots=True)
class DueObjects:
    """The objects that are due, or why there are none."""

    objects: tuple[JSONObject, ...] = ()
    """Whole objects, in the order in which they are applied."""
    error: InvalidInput | None = None
    """Why they could not be made."""


def due_objects(
    job: TrainJob, runtime: Runtime | None, observed: ObservedObjects, behaviour: Behaviour
) -> DueObjects:
    """The objects to write now; a snapshot that exists is used instead of the live runtime."""
    first: tuple[JSONObject, ...] = ()
    if runtime_ref.unsupported_kind(job):
        return DueObjects()
    try:
        born_with = runtime_born_with(job, runtime, observed)
        if observed.snapshot is None:
            whole = child_metadata.with_owner(snapshot.config_map(job, born_with), job)
            first = pipeline.completed_objects((whole,), job, behaviour)
        due = pipeline.due_objects(job, born_with, observed, behaviour)
    except InvalidInput as error:
        # The reference copies a runtime before it knows whether it can be used, and keeps it.
        return DueObjects(() if behaviour.ours(Deviation.SNAPSHOT) else first, error)
    return DueObjects((*first, *due))


def runtime_born_with(job: TrainJob, runtime: Runtime | None, observed: ObservedObjects) -> Runtime:
    """The runtime that a TrainJob was born with: its snapshot, before there is one the live one.

    Raises:
        InvalidInput: The snapshot is damaged or another object's, or there is no runtime.
    """
    if observed.snapshot is not None:
        return snapshot.runtime_in_snapshot(job, observed.snapshot)
    if runtime is None:
        raise InvalidInput([Problem("", runtime_ref.not_found(job))])
    return runtime
