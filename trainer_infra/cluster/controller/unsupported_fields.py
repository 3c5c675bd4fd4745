"""What Kubeflow Trainer's controller does not know, though engine `provider` does. Pure.

Called by `runs` at preview and by `submit`. What would be left out in silence is refused.
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
_SETTINGS: Final = (*names.JOB_SETTINGS, names.TTL_SECONDS)


def unsupported_fields(job: JSONObject, objects: Sequence[JSONObject]) -> tuple[Problem, ...]:
    """What of a TrainJob and its runtime cannot be run."""
    where = f"TrainJob {job['metadata']['name']}"
    return (*_of_annotations(job["metadata"], where), *_of_runtime(job, objects))


def _of_runtime(job: JSONObject, objects: Sequence[JSONObject]) -> Iterator[Problem]:
    record = next((each for each in objects if is_record(each, job["metadata"]["name"])), None)
    if record is None:
        return
    try:
        runtime = snapshot.runtime_in_snapshot(TrainJob.of_valid(job), record)
    except InvalidInput as error:
        yield from error.problems
        return
    found = {"annotations": runtime.metadata.annotations}
    yield from _of_annotations(found, f"{runtime.kind} {runtime.metadata.name}")


def _of_annotations(metadata: JSONObject, where: str) -> Iterator[Problem]:
    annotations = metadata.get("annotations") or {}
    for key in _SETTINGS:
        if key in annotations:
            what = "is not supported by engine controller: Kubeflow Trainer's controller ignores it"
            fix = _QUEUE if annotations.get(names.SCHEDULER) == "kueue" else _FIX
            yield Problem(f"metadata.annotations[{key}]", what, annotations[key], fix, where)
