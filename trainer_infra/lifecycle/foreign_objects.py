"""metadata.ownerReferences of what is there: objects of a TrainJob's names that are not its own.

A TrainJob that is made again under its name finds the JobSet and the snapshot of the one before
until the garbage collector has removed them; a JobSet of that name may also be a user's own.
Neither is changed, and the end of such a JobSet is not the TrainJob's.

The reference takes such a JobSet over, and copies its end (deviation `owner`).
"""

from dataclasses import replace

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render.observed_objects import ObservedObjects


def own_objects(job: TrainJob, observed: ObservedObjects) -> ObservedObjects:
    """What is there without a JobSet that the TrainJob does not control."""
    if observed.jobset is None or _is_own(job, observed.jobset):
        return observed
    return replace(observed, jobset=None, pods=(), jobs=())


def is_succeeding(job: TrainJob, observed: ObservedObjects) -> bool:
    """Whether objects of an earlier TrainJob of this name are still there."""
    there = (each for each in (observed.jobset, observed.snapshot) if each is not None)
    owners = (controller_of(each) for each in there if not _is_own(job, each))
    return any(
        (each.get("kind"), each.get("name")) == (names.TRAIN_JOB, job.metadata.name)
        for each in owners
        if each is not None
    )


def foreign_job_set(job: TrainJob, observed: ObservedObjects) -> InvalidInput | None:
    """Why the TrainJob cannot have its JobSet: one of its name is another owner's."""
    jobset = observed.jobset
    if jobset is None or _is_own(job, jobset):
        return None
    owner = controller_of(jobset)
    by = f"belongs to {owner['kind']} {owner['name']}" if owner else "was not made by a TrainJob"
    what = f"{names.JOBSET} {job.metadata.name} exists and {by}"
    return InvalidInput([Problem("", what, fix="delete it, or give the TrainJob another name")])


def _is_own(job: TrainJob, value: JSONObject) -> bool:
    """A TrainJob that no API server stores has no uid, and owns what it finds."""
    if job.metadata.uid is None:
        return True
    owner = controller_of(value)
    return owner is not None and owner["uid"] == job.metadata.uid


def controller_of(value: JSONObject) -> JSONObject | None:
    """The owner reference of the controller of an object."""
    references = (value.get("metadata") or {}).get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)
