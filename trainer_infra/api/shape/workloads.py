"""What is wrong with the pods and Jobs of an object of any kind: their types, and their forms.

JobSet and Trainer take a pod template nearly as it is written; the API server refuses its pods when
they are made, long after the job was taken. Types are those of the pods and Jobs in JobSet's published
schema; of it nothing else is asked, as the API server takes more than a CRD does. tests/apiserver/test_pod_validation.py
holds the forms against a real API server.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.api.shape import form, job_forms, jobset_forms, pod_forms, schema
from trainer_infra.api.shape.form import JSON, asked, at, every, fields, part_of, prefixed
from trainer_infra.api.shape.schema_rules import Broken
from trainer_infra.api.shape.walk import Schema

EACH: Final = "*"
"""Stands for every item of a list, and for every field of a mapping."""
_BATCH: Final = "batch/"
_ONE: Final = ("spec", "template")
_REPLICA_SPECS: Final[Mapping[str, str]] = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "MXJob": "mxReplicaSpecs",
    "ElasticJob": "replicaSpecs",
}
"""Jobs of Kubeflow's v1 operator, of its MPI operator, and of DLRover."""
V1_JOBS: Final = tuple(_REPLICA_SPECS)
_RAY: Final[tuple[tuple[str, ...], ...]] = (
    ("headGroupSpec", "template"),
    ("workerGroupSpecs", EACH, "template"),
)
ALWAYS: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
"""Kinds whose pods always run."""
_ALIKE: Final = ("Rollout", "Notebook", "CloneSet", "BroadcastJob", "NodeSet")
"""Kinds of other projects with a pod template where Kubernetes has it: Argo, Kubeflow, OpenKruise, Slinky."""
_TASKS: Final = ("tasks", EACH, "template")
"""Pods of Volcano, below the spec of a Job."""
_GROUP: Final = ("spec", "leaderWorkerTemplate")
TEMPLATES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "Pod": ((),),
    "PodTemplate": (("template",),),
    **dict.fromkeys((*ALWAYS, *_ALIKE), (_ONE,)),
    # Volcano has a Job and a CronJob, too.
    "Job": (_ONE, ("spec", *_TASKS)),
    "CronJob": (("spec", "jobTemplate", *_ONE), ("spec", "jobTemplate", "spec", *_TASKS)),
    "JobTemplate": (("spec", *_TASKS),),
    "ScaledJob": (("spec", "jobTargetRef", "template"),),
    **{kind: (("spec", key, EACH, "template"),) for kind, key in _REPLICA_SPECS.items()},
    "LeaderWorkerSet": ((*_GROUP, "leaderTemplate"), (*_GROUP, "workerTemplate")),
    "RayCluster": tuple(("spec", *each) for each in _RAY),
    "RayJob": tuple(("spec", "rayClusterSpec", *each) for each in _RAY),
    "RayService": tuple(("spec", "rayClusterConfig", *each) for each in _RAY),
}
"""By kind, the paths of pod templates."""
_CLAIMS: Final[Mapping[str, tuple[str, ...]]] = {
    "StatefulSet": ("spec", "volumeClaimTemplates"),
    "LeaderWorkerSet": (*_GROUP, "volumeClaimTemplates"),
}
"""By kind, where the claims stand of which its controller makes volumes."""
_ADDED_VOLUMES: Final[Mapping[tuple[Any, Any], Mapping[Any, tuple[str, ...]]]] = {
    ("kubeflow.org/v1", "MPIJob"): {
        "Launcher": ("mpi-job-config", "mpi-job-kubectl"),
        "Worker": ("mpi-job-config",),
    },
    ("kubeflow.org/v2beta1", "MPIJob"): {
        "Launcher": ("mpi-job-config", "ssh-auth"),
        "Worker": ("ssh-auth",),
    },
    ("batch.volcano.sh/v1alpha1", "Job"): {EACH: ("{}-ssh", "{}-svc")},
}
"""Volumes that a controller adds to pods, by kind and replica type; {} is the name of the object."""
_JOBS: Final[Mapping[str, tuple[str, ...]]] = {"Job": (), "CronJob": ("spec", "jobTemplate")}
"""By kind of the group `batch`, where its Job is."""
_RESTARTED: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": job_forms.RESTART_POLICIES,
    **dict.fromkeys(ALWAYS, job_forms.RESTART_POLICIES[-1:]),
}
"""By kind, how pods that are of no Job may restart."""
_REPLICATED_JOB: Final = ("replicatedJobs", EACH)
_JOB: Final = ("template", "spec")
_POD: Final = (*_JOB, "template")


def judged_part(kind: str, api_version: str) -> tuple[tuple[str, ...], Schema] | None:
    """The part of an object that has pods, by its path, with its types and forms; None of other kinds."""
    if kind in names.RUNTIMES:
        return ("spec", "template", "spec"), jobset_spec(fills=True)
    if kind == names.JOBSET:
        return ("spec",), jobset_spec(fills=False)
    if kind in TEMPLATES:
        return (), workload(kind, of_batch=api_version.startswith(_BATCH))
    return None


@cache
def workload(kind: str, *, of_batch: bool) -> Schema:
    """The types and forms of an object of one of `TEMPLATES`; a Job of the group `batch` is Kubernetes' own."""
    job = _JOBS.get(kind) if of_batch else None
    templates = TEMPLATES[kind]
    typed = [at(each, _types(*_POD)) for each in templates]
    shape = every(*typed) if job is None else at((*job, "spec"), _types(*_JOB))
    shape = form.with_form(shape, fields(metadata=pod_forms.METADATA), {}, "label-syntax")
    for path in templates:
        shape = _formed(shape, path, pod_forms.pod_forms(is_alone=kind == "Pod"))
        if kind in _RESTARTED:
            restarts = partial(job_forms.restarted, allowed=_RESTARTED[kind])
            asks = at((*path, "spec", "restartPolicy"), asked(restarts))
            shape = form.with_form(shape, asks, {}, "job-restart-policy")
    if job is not None:
        shape = _formed(shape, job, job_forms.job_forms(is_named=not job))
    mounts = asked(partial(_mounts, templates, _CLAIMS.get(kind, ())))
    return form.with_form(shape, mounts, {}, "volume-mounts")


def _formed(shape: Schema, path: Iterable[str], forms: Mapping[str, Schema]) -> Schema:
    for rule, each in forms.items():
        shape = form.with_form(shape, at(path, each), {}, rule)
    return shape


def _mounts(templates: Iterable[tuple[str, ...]], claimed: tuple[str, ...], value: JSON) -> Broken:
    """Pods mount volumes of their own, of the claims that their controller makes, or that it adds."""
    claims = part_of(value, *claimed) if claimed else ()
    added = _ADDED_VOLUMES.get((value.get("apiVersion"), value.get("kind")), {})
    name = part_of(value, "metadata").get("name")
    for path in templates:
        for place, template in _below(value, path, ()):
            pod, role = template.get("spec") or {}, (*place[-2:-1], EACH)[0]
            known = (each.format(name) for each in added.get(role, added.get(EACH, ())))
            yield from prefixed((*place, "spec"), pod_forms.mounts(pod, claims, *known))


def _below(value: Any, path: tuple[str, ...], place: Path) -> Iterator[tuple[Path, JSON]]:
    """What stands at a path in which `EACH` may be, and where."""
    if not path:
        yield place, value
        return
    key, *rest = path
    if key == EACH:
        keys: Iterable[Any] = value if isinstance(value, Mapping) else range(len(value))
    else:
        keys = (key,) if value.get(key) is not None else ()
    for each in keys:
        yield from _below(value[each], tuple(rest), (*place, each))


@cache
def jobset_spec(*, fills: bool) -> Schema:
    """The types and forms of the spec of a JobSet; in a runtime the trainer fills in how many pods a job has."""
    forms = job_forms.replicated_job_forms(fills=fills)
    return _forms_alone(_formed(_jobset_of_pods(), _REPLICATED_JOB, forms))


@cache
def _jobset_of_pods() -> Schema:
    shape = _formed(_types(), (*_REPLICATED_JOB, *_POD), pod_forms.pod_forms())
    return _formed(shape, (), jobset_forms.JOBSET_FORMS)


@cache
def _types(*path: str) -> Schema:
    """The types of what stands at a path of a job of a JobSet; of the JobSet's spec without a path."""
    kinds, shared = schema.published_schema()
    found = _types_of(kinds["JobSetSpec"], shared)
    if path:
        found = found["properties"]["replicatedJobs"]["items"]
    for key in path:
        found = found["properties"][key]
    return found


def _types_of(published: Schema, shared: Mapping[str, Schema]) -> Schema:
    """The types that a schema asks for, and nothing else; what it refers to stands in its place."""
    published = shared[published["$ref"]] if "$ref" in published else published
    if "x-kubernetes-int-or-string" in published:
        return {"type": "scalar", "nullable": True}
    types: Schema = {"type": published["type"], "nullable": True}
    if types["type"] == "integer":
        types["format"] = published.get("format", "int64")
    if types["type"] == "object":
        types["x-kubernetes-preserve-unknown-fields"] = True
    for key in ("items", "additionalProperties"):
        if isinstance(published.get(key), Mapping):
            types[key] = _types_of(published[key], shared)
    inner = published.get("properties", {}).items()
    return types | {"properties": {name: _types_of(each, shared) for name, each in inner}}


def _forms_alone(ruled: Schema) -> Schema:
    """Of a schema the parts with forms: of kinds whose types the rule `schema` judges."""
    kept = dict(ruled)
    for key in ("items", "additionalProperties"):
        if key in kept:
            below = kept.pop(key)
            kept |= {key: _forms_alone(below)} if "rules" in below else {}
    inner = kept.get("properties", {}).items()
    ruled_alone = {name: _forms_alone(each) for name, each in inner if "rules" in each}
    return kept | {"properties": ruled_alone}
