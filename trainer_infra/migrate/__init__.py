"""v1 jobs of the training operator and the MPI operator become TrainJobs with runtimes of their own.

`migrate_job` is pure; `trainer-infra migrate` calls it for each object of a file and prints the
result. The runtime is what the nodes are (image, environment, volumes, restarts), the TrainJob what
they run and how many there are. docs/migrate.md has the table of fields.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import base
from trainer_infra.api.finding import FieldFinding
from trainer_infra.api.runtime import TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate import fields, jax_job, mpi_job, pytorch_job, run_policy, xgboost_job
from trainer_infra.migrate.migration import Migration, Note, Parts, V1Job
from trainer_infra.render import pipeline

KINDS: Final[Mapping[str, Callable[[V1Job], Parts]]] = {
    "PyTorchJob": pytorch_job.pytorch_parts,
    "MPIJob": mpi_job.mpi_parts,
    "XGBoostJob": xgboost_job.xgboost_parts,
    "JAXJob": jax_job.jax_parts,
}
"""What is migrated, by kind."""

_OWN_HOSTS: Final = (
    "write a TrainingRuntime without a framework, whose pods find each other as "
    "<job>-node-0-<index>.<job>"
)
REFUSED: Final = {
    "TFJob": "has no counterpart: v2 has no TensorFlow runtime, and nothing writes TF_CONFIG",
    "PaddleJob": "has no counterpart: v2 has no PaddlePaddle runtime",
}
"""Kinds of the training operator that v2 cannot run, and why."""

_NO_OWNER: Final = "is lost: the owner of the v1 job does not know the TrainJob"
_NO_FIELD: Final = "is lost: Kubernetes no longer has this field"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def v1_findings(value: object) -> tuple[FieldFinding, ...]:
    """What keeps an object from being migrated: its kind, or fields that its kind does not have."""
    if not isinstance(value, Mapping):
        return (FieldFinding((), "must be an object with apiVersion and kind", value),)
    kind, version = str(value.get("kind", "")), str(value.get("apiVersion", ""))
    if kind in REFUSED:
        return (FieldFinding(("kind",), REFUSED[kind], kind, _OWN_HOSTS),)
    known = fields.known_kinds()
    if kind not in KINDS:
        return (FieldFinding(("kind",), "is not a v1 job", kind, f"known are {', '.join(KINDS)}"),)
    if (version, kind) not in known:
        versions = " or ".join(each for each, of in known if of == kind)
        return (FieldFinding(("apiVersion",), f"must be {versions}", version),)
    return (*fields.field_findings(_read(value), version, kind), *_unnamed(value))


def is_v1(value: Mapping[str, Any]) -> bool:
    """Whether an object is a job of the v1 operators, be it migrated or refused."""
    return value.get("kind") in {*KINDS, *REFUSED}


def v1_job(value: Mapping[str, Any]) -> V1Job:
    """A v1 job that has no findings."""
    whole = _read(value)
    return V1Job(whole["apiVersion"], whole["kind"], whole["metadata"], whole["spec"])


def _read(value: Mapping[str, Any]) -> dict[str, Any]:
    """A v1 job without nulls; the operator takes the names of replica types in any case."""
    whole: dict[str, Any] = base.without_nulls(value)
    spec = whole.get("spec")
    if isinstance(spec, dict):
        for key, replicas in spec.items():
            if key.endswith("ReplicaSpecs") and isinstance(replicas, dict):
                spec[key] = {str(kind).capitalize(): each for kind, each in replicas.items()}
    return whole


def migrate_job(value: Mapping[str, Any]) -> Migration:
    """What a v1 job becomes, which a user wrote or an API server returned.

    Raises:
        InvalidInput: It cannot be migrated, or v2 would refuse what it becomes; holds every problem.
    """
    found = v1_findings(value)
    if found:
        raise InvalidInput(each.problem("") for each in found)
    job = v1_job(value)
    parts = KINDS[job.kind](job)
    pods = (each["template"]["spec"]["template"]["spec"] for each in parts.jobs)
    schedulers = {pod["schedulerName"] for pod in pods if pod.get("schedulerName")}
    gang = run_policy.gang_policy(job, schedulers)
    runtime = TrainingRuntime.from_wire(_runtime(job, parts, gang))
    train_job = TrainJob.from_wire(_train_job(job, parts))
    pipeline.render(train_job, runtime)
    of_policy = run_policy.policy_notes(job, parts.pods, schedulers)
    return Migration(runtime, train_job, (*parts.notes, *of_policy, *_owner_notes(job)))


def _unnamed(value: Mapping[str, Any]) -> tuple[FieldFinding, ...]:
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("generateName") and not metadata.get("name"):
        fix = "write one: the runtime is named as the job is"
        return (FieldFinding(("metadata", "name"), "is required", fix=fix),)
    return ()


def _runtime(job: V1Job, parts: Parts, gang: run_policy.Gang | None) -> dict[str, Any]:
    jobs = [_with_pod_fields(each, gang.pods) if gang else each for each in parts.jobs]
    template: dict[str, Any] = {"spec": {**parts.job_set, "replicatedJobs": jobs}}
    if gang and gang.annotations:
        template = {"metadata": {"annotations": dict(gang.annotations)}, **template}
    spec: dict[str, Any] = {"mlPolicy": {"numNodes": 1, **parts.ml_policy}}
    if gang:
        spec["podGroupPolicy"] = gang.policy
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAINING_RUNTIME,
        "metadata": {**_place(job), "labels": {names.FRAMEWORK_LABEL: parts.framework}},
        "spec": {**spec, "template": template},
    }


def _train_job(job: V1Job, parts: Parts) -> dict[str, Any]:
    metadata: dict[str, Any] = _place(job)
    if job.metadata.get("labels"):
        metadata["labels"] = job.metadata["labels"]
    annotations = {**(job.metadata.get("annotations") or {}), **run_policy.policy_annotations(job)}
    annotations.pop(_LAST_APPLIED, None)
    if annotations:
        metadata["annotations"] = annotations
    spec = {
        "runtimeRef": {"kind": names.TRAINING_RUNTIME, "name": job.name},
        "trainer": parts.trainer,
        **run_policy.of_train_job(job),
    }
    head = {"apiVersion": names.API_VERSION, "kind": names.TRAIN_JOB}
    return {**head, "metadata": metadata, "spec": spec}


def _place(job: V1Job) -> dict[str, Any]:
    return {key: job.metadata[key] for key in ("name", "namespace") if key in job.metadata}


def _owner_notes(job: V1Job) -> tuple[Note, ...]:
    advice = dict.fromkeys(("ownerReferences", "finalizers"), _NO_OWNER)
    advice |= dict.fromkeys(fields.DROPPED_META, _NO_FIELD)
    return tuple(
        Note(("metadata", key), job.metadata[key], said)
        for key, said in advice.items()
        if job.metadata.get(key)
    )


def _with_pod_fields(replicated_job: JSONObject, added: JSONObject) -> dict[str, Any]:
    template = replicated_job["template"]
    pod = template["spec"]["template"]
    spec = {**template["spec"], "template": {**pod, "spec": {**added, **pod["spec"]}}}
    return {**replicated_job, "template": {**template, "spec": spec}}
