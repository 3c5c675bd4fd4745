"""What this engine cannot do, though a controller in the cluster could. Pure.

Called at preview and by `submit`. Nothing of ours is in the cluster once `up` has ended (design
"Targets and engines"): nothing of ours runs later to delete, or to wait for another controller.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster.run_labels import is_record
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import snapshot

_NOBODY: Final = "nothing is there to delete it: engine provider runs nothing in the cluster"


def unsupported_fields(job: JSONObject, objects: Sequence[JSONObject]) -> tuple[Problem, ...]:
    """What of a TrainJob and its objects cannot be run, in the order of the fields."""
    return (*_of_job(job), *_of_runtime(job, objects), *_of_jobset(objects))


def _of_job(job: JSONObject) -> Iterator[Problem]:
    where = f"TrainJob {job['metadata']['name']}"
    manager = (job.get("spec") or {}).get("managedBy")
    if manager not in (None, names.MANAGED_BY):
        what = "names another controller, which finds no TrainJob in the cluster"
        yield Problem("spec.managedBy", what, manager, "remove it, or use engine controller", where)
    annotations = job["metadata"].get("annotations") or {}
    if names.TTL_SECONDS in annotations:
        yield _ttl(f"metadata.annotations[{names.TTL_SECONDS}]", annotations, where)


def _of_runtime(job: JSONObject, objects: Sequence[JSONObject]) -> Iterator[Problem]:
    record = next((each for each in objects if is_record(each, job["metadata"]["name"])), None)
    if record is None:
        return
    try:
        runtime = snapshot.runtime_in_snapshot(TrainJob.of_valid(job), record)
    except InvalidInput as error:
        yield from error.problems
        return
    annotations = runtime.metadata.annotations or {}
    if names.TTL_SECONDS in annotations:
        where = f"{runtime.kind} {runtime.metadata.name}"
        yield _ttl(f"metadata.annotations[{names.TTL_SECONDS}]", annotations, where)


def _ttl(path: str, annotations: Mapping[str, str], where: str) -> Problem:
    fix = "remove it, and end the run with `pulumi destroy`; or use engine controller"
    return Problem(path, _NOBODY, annotations[names.TTL_SECONDS], fix, where)


def _of_jobset(objects: Sequence[JSONObject]) -> Iterator[Problem]:
    for each in objects:
        seconds = (each.get("spec") or {}).get("ttlSecondsAfterFinished")
        if each["kind"] == names.JOBSET and seconds is not None:
            what = (
                "would delete the JobSet while its run is still declared, which looks like a loss"
            )
            fix = "remove it, and end the run with `pulumi destroy`"
            where = f"JobSet {each['metadata']['name']}"
            yield Problem("spec.ttlSecondsAfterFinished", what, seconds, fix, where)
