"""What a TrainJob renders to as far as it can be said, where all of it cannot be.

What is wrong with the TrainJob is left out. In place of a runtime that is not at hand stands one of
nothing but the parts that the TrainJob names; what else they have is not known.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.shape import schema
from trainer_infra.api.trainjob import RuntimeRef, TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve
from trainer_infra.rules.finding import REMOVED, Change
from trainer_infra.rules.patch import apply_patch, with_value
from trainer_infra.rules.value import UNKNOWN, is_list, is_mapping

_ROUNDS: Final = 12
"""Times that something wrong is left out: what it stood in may then lack a field."""
STAND_IN: Final = "value-that-is-not-known"
"""Stands in the place of a text."""
_TEXTS: Final = (f"{STAND_IN}-{{}}", f"example.com/{STAND_IN}-{{}}")
"""What is tried where a field is missing that there must be: what lacks it is judged all the same."""
_COUNTS: Final[tuple[Path, ...]] = (
    ("replicas",),
    ("template", "spec", "parallelism"),
    ("template", "spec", "completions"),
)
_STEPS: Final[Mapping[str, str]] = {
    "dataset": names.DATASET_INITIALIZER,
    "model": names.MODEL_INITIALIZER,
}
"""Fields of `spec.initializer`, and the replicated jobs and containers that they are about."""


def mended_job(job: JSONObject) -> tuple[TrainJob | None, tuple[Path, ...]]:
    """The TrainJob without what its schema refuses, and the paths of what is left out.

    All of it must be known; None is made of one that cannot be mended.
    """
    left_out: dict[Path, None] = {}
    filled: Counter[Path] = Counter()
    value = _with_reference(job)
    for _ in range(_ROUNDS):
        findings = schema.schema_findings(value, names.TRAIN_JOB)
        if not findings:
            return TrainJob.of_valid(value), tuple(each for each in left_out if each not in filled)
        wrong: set[Path] = set()
        for each in findings:
            found = _standing(value, each.path)
            if len(found) == len(each.path) - 1 and filled[each.path] < len(_TEXTS):
                text = _TEXTS[filled[each.path]].format(len(filled))
                value = with_value(value, each.path, text)
                filled[each.path] += 1
            else:
                wrong.add(found)
                left_out[found] = None
        # The last of a list first: what is behind it moves up.
        gone = (Change(each, REMOVED) for each in sorted(filter(None, wrong), reverse=True))
        value = _with_reference(apply_patch(value, gone))
    return None, tuple(left_out)


def on_stand_in(job: TrainJob) -> tuple[TrainJob, ClusterTrainingRuntime]:
    """The TrainJob on a runtime of the replicated jobs and containers that it names."""
    reference = RuntimeRef(name=STAND_IN)
    spec = job.spec.model_copy(update={"runtime_ref": reference})
    return job.model_copy(update={"spec": spec}), _stand_in_runtime(job)


def _stand_in_runtime(job: TrainJob) -> ClusterTrainingRuntime:
    parts: dict[str, dict[str, list[str]]] = {names.NODE: {"containers": [names.NODE]}}
    initializer = job.spec.initializer
    for field, step in _STEPS.items():
        if initializer is not None and getattr(initializer, field) is not None:
            parts[step] = {"containers": [step]}
    for patch in resolve.template_patches(job):
        for each in (patch.get("spec") or {}).get("replicatedJobs") or ():
            known = parts.setdefault(each["name"], {})
            for key in ("initContainers", "containers"):
                named = (one["name"] for one in resolve.pod_spec(each).get(key) or ())
                known[key] = list(dict.fromkeys((*known.get(key, ()), *named)))
    jobs = [_replicated_job(name, known) for name, known in parts.items()]
    identity = {"apiVersion": names.API_VERSION, "kind": names.CLUSTER_TRAINING_RUNTIME}
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}}
    return ClusterTrainingRuntime.from_wire(
        {**identity, "metadata": {"name": STAND_IN}, "spec": spec}
    )


def without_counts(value: JSONObject, job: TrainJob) -> JSONObject:
    """A JobSet with how many pods there are unknown, as far as the TrainJob does not say it."""
    if value["kind"] != names.JOBSET:
        return value
    says_nodes = job.spec.trainer is not None and job.spec.trainer.num_nodes is not None
    jobs = [
        {"replicas": 1, **each}
        if says_nodes and each["name"] == names.NODE
        else _with_unknown_counts(each)
        for each in value["spec"]["replicatedJobs"]
    ]
    return {**value, "spec": {**value["spec"], "replicatedJobs": jobs}}


def _replicated_job(name: str, containers: Mapping[str, Iterable[str]]) -> JSONObject:
    step = names.TRAINER if name == names.NODE else name
    is_step = name == names.NODE or name in _STEPS.values()
    labels = {"metadata": {"labels": {names.ANCESTOR_LABEL: step}}} if is_step else {}
    pod = {key: [{"name": each} for each in known] for key, known in containers.items() if known}
    return {
        "name": name,
        "template": {**labels, "spec": {"template": {"spec": {"containers": [], **pod}}}},
    }


def _with_unknown_counts(replicated_job: JSONObject) -> JSONObject:
    for path in _COUNTS:
        replicated_job = with_value(replicated_job, path, UNKNOWN)
    return replicated_job


def _with_reference(job: JSONObject) -> JSONObject:
    """The TrainJob with what it needs to be one at all."""
    metadata, spec = _fields(job.get("metadata")), _fields(job.get("spec"))
    reference = _fields(spec.get("runtimeRef"))
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": STAND_IN, **metadata},
        "spec": {**spec, "runtimeRef": {"name": STAND_IN, **reference}},
    }


def _fields(value: Any) -> Mapping[str, Any]:
    return value if is_mapping(value) else {}


def _standing(value: Any, path: Path) -> Path:
    """The path, or that of what lacks what is to stand there."""
    for length, key in enumerate(path):
        has = (is_mapping(value) and key in value) or (
            is_list(value) and isinstance(key, int) and key < len(value)
        )
        if not has:
            return path[:length]
        value = value[key]
    return path
