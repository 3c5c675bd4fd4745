"""What an engine cannot do of a TrainJob, though the other one can. Pure.

Called at preview and by `submit`. With engine `provider` nothing of ours is in the cluster once `up` has
ended (design "Targets and engines"): nothing of ours runs later to delete, or to wait for another
controller. With engine `controller` what its controller would leave out in silence is refused. Ours knows
all annotations but those about Kueue: there Kueue queues the TrainJob, not the JobSet for which the
controller reads them.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster.run_labels import is_record
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import snapshot

_UNDELETED: Final = "nothing is there to delete it: engine provider runs nothing in the cluster"
_FIX: Final = "remove it, or run `pulumi config set trainer:engine provider`"
_QUEUE: Final = (
    f"put the label {names.KUEUE_QUEUE_LABEL} on the TrainJob, which Kueue reads itself, or run "
    "`pulumi config set trainer:engine provider`"
)
_SETTINGS: Final = (*names.JOB_SETTINGS, names.TTL_SECONDS, names.STORED_CODE)


def of_engine_provider(job: JSONObject, objects: Sequence[JSONObject]) -> tuple[Problem, ...]:
    """What of a TrainJob and its objects cannot be run without a controller, in the order of the fields."""

    def judge(annotations: JSONObject, where: str) -> Iterator[Problem]:
        if names.TTL_SECONDS in annotations:
            path, got = f"metadata.annotations[{names.TTL_SECONDS}]", annotations[names.TTL_SECONDS]
            fix = "remove it, and end the run with `pulumi destroy`; or use engine controller"
            yield Problem(path, _UNDELETED, got, fix, where)

    return (*_managed_by(job), *_of_annotations(job, objects, judge), *_of_jobset(objects))


def of_engine_controller(
    job: JSONObject, objects: Sequence[JSONObject], controller: str
) -> tuple[Problem, ...]:
    """What of a TrainJob and its runtime cannot be run by a controller, `builtin` or `upstream`."""

    def judge(annotations: JSONObject, where: str) -> Iterator[Problem]:
        is_kueues = annotations.get(names.SCHEDULER) == "kueue"
        if controller == names.BUILTIN:
            settings: Sequence[str] = names.JOB_SETTINGS if is_kueues else ()
            ignorant = "Kueue does not read it from a TrainJob"
        else:
            settings, ignorant = _SETTINGS, "Kubeflow Trainer's controller ignores it"
        for key in settings:
            if key in annotations:
                what = f"is not supported by engine controller: {ignorant}"
                fix = _QUEUE if is_kueues else _FIX
                yield Problem(f"metadata.annotations[{key}]", what, annotations[key], fix, where)

    return tuple(_of_annotations(job, objects, judge))


def _managed_by(job: JSONObject) -> Iterator[Problem]:
    manager = (job.get("spec") or {}).get("managedBy")
    if manager not in (None, names.MANAGED_BY):
        what = "names another controller, which finds no TrainJob in the cluster"
        where = f"TrainJob {job['metadata']['name']}"
        yield Problem("spec.managedBy", what, manager, "remove it, or use engine controller", where)


def _of_annotations(
    job: JSONObject,
    objects: Sequence[JSONObject],
    judge: Callable[[JSONObject, str], Iterator[Problem]],
) -> Iterator[Problem]:
    """What is wrong in the annotations of a TrainJob, and of the runtime that it was born with."""
    name = job["metadata"]["name"]
    yield from judge(job["metadata"].get("annotations") or {}, f"TrainJob {name}")
    record = next((each for each in objects if is_record(each, name)), None)
    if record is None:
        return
    try:
        runtime = snapshot.runtime_in_snapshot(TrainJob.of_valid(job), record)
    except InvalidInput as error:
        yield from error.problems
        return
    where = f"{runtime.kind} {runtime.metadata.name}"
    yield from judge(runtime.metadata.annotations or {}, where)


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
