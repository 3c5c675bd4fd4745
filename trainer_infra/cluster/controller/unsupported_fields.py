"""What a controller of the cluster does not know, though engine `provider` does. Pure.

What would be left out in silence is refused. Ours knows all annotations but those about Kueue: with
this engine Kueue queues the TrainJob, not the JobSet for which the controller reads them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster.run_labels import is_record
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import snapshot

_FIX: Final = "remove it, or run `pulumi config set trainer:engine provider`"
_QUEUE: Final = (
    f"put the label {names.KUEUE_QUEUE_LABEL} on the TrainJob, which Kueue reads itself, or run "
    "`pulumi config set trainer:engine provider`"
)
_SETTINGS: Final = (*names.JOB_SETTINGS, names.TTL_SECONDS, names.STORED_CODE)


def unsupported_fields(
    job: JSONObject, objects: Sequence[JSONObject], controller: str
) -> tuple[Problem, ...]:
    """What of a TrainJob and its runtime cannot be run by a controller, `builtin` or `upstream`."""
    where = f"TrainJob {job['metadata']['name']}"
    own = _of_annotations(job["metadata"], where, controller)
    return (*own, *_of_runtime(job, objects, controller))


def _of_runtime(
    job: JSONObject, objects: Sequence[JSONObject], controller: str
) -> Iterator[Problem]:
    record = next((each for each in objects if is_record(each, job["metadata"]["name"])), None)
    if record is None:
        return
    try:
        runtime = snapshot.runtime_in_snapshot(TrainJob.of_valid(job), record)
    except InvalidInput as error:
        yield from error.problems
        return
    found = {"annotations": runtime.metadata.annotations}
    yield from _of_annotations(found, f"{runtime.kind} {runtime.metadata.name}", controller)


def _of_annotations(metadata: JSONObject, where: str, controller: str) -> Iterator[Problem]:
    annotations = metadata.get("annotations") or {}
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
