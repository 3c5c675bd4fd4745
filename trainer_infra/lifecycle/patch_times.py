"""spec.runtimePatches[].time: when a manager last changed its patch, for people to see.

Called by `admission.with_defaults`, the mutating half of admission. Rule: reference behaviour
5.3. Every other default is the schema's.
"""

from datetime import datetime

from trainer_infra.api.trainjob import RuntimePatch, TrainJob
from trainer_infra.lifecycle import conditions, immutable_fields


def with_patch_times(job: TrainJob, old: TrainJob | None, now: datetime) -> TrainJob:
    """The TrainJob with a time in every patch.

    A patch that did not change keeps its stored time and a changed one gets `now`, whatever the
    user wrote; a new one keeps the time that it has.
    """
    if job.spec.runtime_patches is None:
        return job
    known = {each.manager: each for each in (old.spec.runtime_patches if old else None) or ()}
    patches = tuple(
        _stamped(each, known.get(each.manager), now) for each in job.spec.runtime_patches
    )
    spec = job.spec.model_copy(update={"runtime_patches": patches})
    return job.model_copy(update={"spec": spec})


def _stamped(patch: RuntimePatch, old: RuntimePatch | None, now: datetime) -> RuntimePatch:
    time: str | None = conditions.timestamp(now)
    if old is None:
        time = patch.time or time
    elif immutable_fields.comparable_fields(old) == immutable_fields.comparable_fields(patch):
        time = old.time
    return patch.model_copy(update={"time": time})
