"""Fields that people look for where they do not stand, and where: elsewhere, or in an older release of Trainer.

A runtime patch has those of pods and containers that Trainer lets a TrainJob set; the runtime has
all others. What took the place of a field that a release took away: reference behaviour 1.6.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from trainer_infra import names
from trainer_infra.names import RUNTIMES, TRAIN_JOB

Field: TypeAlias = tuple[str, ...]
_OLD_PATCH: Final = "write spec.runtimePatches, which took its place in Trainer 2.2"
_OF_JOBSET: Final = "write it in spec.runtimePatches, below trainingRuntimeSpec.template.metadata, since Trainer 2.2"
_OF_TRAIN_JOB: Final[Mapping[Field, Sequence[tuple[str, str]]]] = {
    ("spec", "podSpecOverrides"): (
        ("2.1", "write spec.podTemplateOverrides, which took its place in Trainer 2.1"),
        ("2.2", _OLD_PATCH),
    ),
    ("spec", "podTemplateOverrides"): (("2.2", _OLD_PATCH),),
    ("spec", "labels"): (("2.2", _OF_JOBSET),),
    ("spec", "annotations"): (("2.2", _OF_JOBSET),),
}
_OF_RUNTIME: Final[Mapping[Field, Sequence[tuple[str, str]]]] = {
    ("spec", "mlPolicy", "torch", "numProcPerNode"): (
        ("2.2", "write spec.trainer.numProcPerNode of the TrainJob: Trainer 2.2 removed this one"),
    ),
    ("spec", "mlPolicy", "torch", "elasticPolicy"): (
        ("2.2", "remove it: Trainer 2.2 has no elastic training of torch"),
    ),
}
"""By field, the releases that put something else in its place, the oldest first, and what to do."""

SUCCESSORS: Final = {TRAIN_JOB: _OF_TRAIN_JOB, **dict.fromkeys(RUNTIMES, _OF_RUNTIME)}
"""By kind."""

PROCESSES: Final[Field] = ("spec", "trainer", "numProcPerNode")
"""A number here, and a word in older releases."""
_POD: Field = (
    *("spec", "runtimePatches", "trainingRuntimeSpec", "template", "spec", "replicatedJobs"),
    *("template", "spec", "template", "spec"),
)
_CONTAINER: Field = (*_POD, "containers")
_PATCH: Final = "write it in spec.runtimePatches, below trainingRuntimeSpec.template.spec.replicatedJobs[name: {job}]"
_TEMPLATE: Final = ".template.spec.template.spec"
_OF_PODS: Final = frozenset(
    {
        *("activeDeadlineSeconds", "dnsConfig", "dnsPolicy", "enableServiceLinks", "hostAliases"),
        *("hostIPC", "hostNetwork", "hostPID", "hostname", "nodeName", "overhead", "priority"),
        *("priorityClassName", "readinessGates", "resourceClaims", "runtimeClassName"),
        *("schedulerName", "serviceAccount", "shareProcessNamespace", "subdomain"),
        *("topologySpreadConstraints", "automountServiceAccountToken", "restartPolicy"),
    }
)
_OF_CONTAINERS: Final = frozenset(
    {
        *("envFrom", "imagePullPolicy", "lifecycle", "livenessProbe", "ports", "readinessProbe"),
        *("startupProbe", "stdin", "tty", "workingDir", "terminationMessagePolicy"),
        "volumeDevices",
    }
)
_OF_JOBS: Final = frozenset(
    {"backoffLimit", "backoffLimitPerIndex", "completions", "parallelism", "podFailurePolicy"}
)
_OF_JOBSETS: Final = frozenset(
    {"coordinator", "failurePolicy", "maxRestarts", "network", "startupPolicy", "successPolicy"}
)
_ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("ttlSecondsAfterFinished", "cleanPodPolicy"),
        f"write the annotation {names.TTL_SECONDS} in metadata.annotations",
    ),
    **dict.fromkeys(
        ("queueName", "queue", "localQueue"),
        f"write the label {names.KUEUE_QUEUE_LABEL} in metadata.labels",
    ),
    **dict.fromkeys(("nodes", "numWorkers", "replicas", "workers"), "write spec.trainer.numNodes"),
    **dict.fromkeys(("nprocPerNode", "slotsPerWorker"), "write spec.trainer.numProcPerNode"),
    "resources": "write spec.trainer.resourcesPerNode",
    "mlPolicy": "write it in the runtime: a TrainJob has spec.trainer.numNodes and numProcPerNode",
    "podGroupPolicy": "write it in the runtime",
    "template": "write it in the runtime, or in spec.runtimePatches what Trainer lets a TrainJob change",
    "runPolicy": "write suspend and activeDeadlineSeconds in spec, and the rest in the runtime",
}
"""By name, wherever below spec it stands."""
_OF_SPEC: Final = ("suspend", "activeDeadlineSeconds", "managedBy", "runtimeRef", "runtimePatches")
_OF_TRAINER: Final = (
    *("image", "command", "args", "env"),
    *("numNodes", "numProcPerNode", "resourcesPerNode"),
)
_STEPS: Final[Mapping[Field, str]] = {
    ("spec",): names.NODE,
    ("spec", "trainer"): names.NODE,
    ("spec", "initializer", "dataset"): names.DATASET_INITIALIZER,
    ("spec", "initializer", "model"): names.MODEL_INITIALIZER,
}
"""Parts of a TrainJob in which these are looked for, and the job that they are about."""


def place(path: Field, has: Callable[[Field], bool]) -> str:
    """What to write instead of an unknown field of a TrainJob; empty where nothing is known of it.

    Args:
        path: Of the field, without positions in lists.
        has: Whether a TrainJob has a field, of the release that is asked about.
    """
    name, job = path[-1], _STEPS.get(path[:-1])
    if job is None:
        return ""
    if name in _OF_SPEC and path[:-1] != ("spec",):
        return f"write spec.{name}"
    if name in _OF_TRAINER and path[:-1] == ("spec",):
        return f"write spec.trainer.{name}"
    return _ELSEWHERE.get(name) or _of_pods(name, job, has)


def processes(got: object) -> str:
    """What to do about a word for a number of processes, as torchrun and Trainer 2.1 take it."""
    if isinstance(got, str) and got in ("auto", "gpu", "cpu"):
        return "leave it out: a node gets a process for each accelerator, without any for each CPU"
    return ""


def _of_pods(name: str, job: str, has: Callable[[Field], bool]) -> str:
    patch = _PATCH.format(job=job) + _TEMPLATE
    if has((*_POD, name)):
        return patch
    if has((*_CONTAINER, name)):
        return f"{patch}.containers[name: {job}]"
    of: Iterable[tuple[frozenset[str], str]] = (
        (_OF_PODS, f"replicatedJobs[name: {job}]{_TEMPLATE}"),
        (_OF_CONTAINERS, f"replicatedJobs[name: {job}]{_TEMPLATE}.containers[name: {job}]"),
        (_OF_JOBS, f"replicatedJobs[name: {job}].template.spec"),
        (_OF_JOBSETS, ""),
    )
    where = next((each for fields, each in of if name in fields), None)
    if where is None:
        return ""
    return f"write it in the runtime, in {'.'.join(filter(None, ('spec.template.spec', where)))}"


def successor(kind: str, field: Field, version: str) -> str:
    """What to write instead of a removed field in a release; empty for other fields."""
    known = SUCCESSORS.get(kind, {}).get(field, ())
    return next((fix for since, fix in reversed(known) if since <= version), "")
