"""The first Draft: patches merged into the runtime's template, counts, resources, pod sets.

Pure. Steps and their order: reference behaviour 2.3.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.api.base import KubeModel
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render import merge, resources
from trainer_infra.render.deviation import ALL, Deviation
from trainer_infra.render.draft import Container, Draft, PodSet

ANCESTOR_PATH: Final = ("template", "metadata", "labels", names.ANCESTOR_LABEL)
"""Where a replicated job says which step of a TrainJob it is."""


def first_draft(job: TrainJob, runtime: Runtime, deviations: frozenset[Deviation] = ALL) -> Draft:
    """The Draft before any plugin has seen it."""
    template = runtime.spec.template
    metadata = template.metadata if template else None
    labels = dict((metadata.labels if metadata else None) or {})
    annotations = dict((metadata.annotations if metadata else None) or {})
    spec = jobset_spec(runtime)
    order = [each["name"] for each in spec.get("replicatedJobs", ())]
    for patch in template_patches(job):
        labels.update(patch.get("metadata", {}).get("labels") or {})
        annotations.update(patch.get("metadata", {}).get("annotations") or {})
        joins = Deviation.Q17 not in deviations
        spec = merge.merge_patch(spec, patch.get("spec") or {}, joins_sources=joins)
    jobs = [
        _with_resources(_with_replicas(each), job, runtime)
        for each in _in_order(spec.get("replicatedJobs"), order)
    ]
    job = job if Deviation.ENV_VAR in deviations else with_converted_variables(job)
    return Draft(
        job=job,
        runtime=runtime,
        spec={**spec, "replicatedJobs": jobs},
        pod_sets=tuple(_pod_set(each, runtime) for each in jobs),
        labels=labels,
        annotations=annotations,
        command=job.spec.trainer.command if job.spec.trainer else None,
        args=job.spec.trainer.args if job.spec.trainer else None,
        deviations=deviations,
    )


def jobset_spec(runtime: Runtime) -> JSONObject:
    """The JobSetSpec of a runtime's template; empty where there is none."""
    template = runtime.spec.template
    return (template.spec if template else None) or {}


def template_patches(job: TrainJob) -> Iterable[JSONObject]:
    """The JobSet template patch of each runtimePatches entry, in list order."""
    for patch in job.spec.runtime_patches or ():
        yield (patch.training_runtime_spec or {}).get("template") or {}


def ancestor_step(replicated_job: JSONObject) -> str | None:
    """Value of the ancestor label on the Job template."""
    metadata = (replicated_job.get("template") or {}).get("metadata") or {}
    value: str | None = (metadata.get("labels") or {}).get(names.ANCESTOR_LABEL)
    return value


def trains(replicated_job: JSONObject) -> bool:
    """Whether it is one of the jobs that train, or their launcher: by its label alone."""
    return ancestor_step(replicated_job) == names.TRAINER


def trainer_jobs(spec: JSONObject) -> frozenset[str]:
    """Names of the replicated jobs of a JobSet's spec that train."""
    return frozenset(each["name"] for each in spec.get("replicatedJobs") or () if trains(each))


def trainer_containers(spec: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    """Name and container `node` of those jobs that train and have one, in template order."""
    for job in filter(trains, spec.get("replicatedJobs") or ()):
        for container in pod_spec(job).get("containers") or ():
            if container.get("name") == names.NODE:
                yield job["name"], container


def pod_spec(replicated_job: JSONObject) -> JSONObject:
    """The PodSpec of a replicated job."""
    job_spec = (replicated_job.get("template") or {}).get("spec") or {}
    spec: JSONObject = (job_spec.get("template") or {}).get("spec") or {}
    return spec


def node_container(pod: JSONObject) -> JSONObject:
    """The container `node` of a PodSpec; empty where there is none."""
    containers = pod.get("containers") or ()
    return next((each for each in containers if each["name"] == names.NODE), {})


def main_container(step: str, listed: Sequence[str]) -> str:
    """Which container of a pod does the work of its step: `node`, one with the step's name, else the first.

    `listed` are the names of the pod's containers, without init containers.
    """
    found = (each for each in (names.NODE, step) if each in listed)
    return next(found, listed[0] if listed else "")


def with_pod_spec(replicated_job: JSONObject, spec: JSONObject) -> JSONObject:
    """A copy of the replicated job with that PodSpec."""
    template = replicated_job.get("template") or {}
    job_spec = template.get("spec") or {}
    pod_template = {**(job_spec.get("template") or {}), "spec": spec}
    return {
        **replicated_job,
        "template": {**template, "spec": {**job_spec, "template": pod_template}},
    }


def _in_order(jobs: Iterable[JSONObject] | None, order: list[str]) -> list[JSONObject]:
    # The reference sorts a job that only a patch has to the front; ours refuses such a patch.
    place = {name: index for index, name in enumerate(order)}
    return sorted(jobs or (), key=lambda each: place.get(each["name"], 0))


def _with_replicas(replicated_job: JSONObject) -> JSONObject:
    """Without `replicas: 0`, which the reference leaves out: JobSet then makes one."""
    if replicated_job.get("replicas") != 0:
        return replicated_job
    return {key: value for key, value in replicated_job.items() if key != "replicas"}


def _with_resources(replicated_job: JSONObject, job: TrainJob, runtime: Runtime) -> JSONObject:
    """Merge resourcesPerNode into container `node` of the training nodes.

    Without an mlPolicy it has no effect, as in the reference: Kueue counts the same way (Q3).
    """
    override = job.spec.trainer.resources_per_node if job.spec.trainer else None
    policy = runtime.spec.ml_policy
    if override is None or policy is None:
        return replicated_job
    launcher_is_node = bool(policy.mpi and policy.mpi.run_launcher_as_node)
    is_node = replicated_job["name"] == names.NODE and launcher_is_node
    if ancestor_step(replicated_job) != names.TRAINER and not is_node:
        return replicated_job
    spec = pod_spec(replicated_job)
    containers = [
        {**each, "resources": resources.merged_resources(each.get("resources"), override)}
        if each["name"] == names.NODE
        else each
        for each in spec.get("containers", ())
    ]
    return with_pod_spec(replicated_job, {**spec, "containers": containers})


def _pod_set(replicated_job: JSONObject, runtime: Runtime) -> PodSet:
    job_spec = replicated_job.get("template", {}).get("spec") or {}
    count = job_spec.get("parallelism") or 1
    policy = runtime.spec.ml_policy
    if ancestor_step(replicated_job) == names.TRAINER and policy is not None:
        count = policy.num_nodes or 1
    spec = pod_spec(replicated_job)
    return PodSet(
        name=replicated_job["name"],
        ancestor=ancestor_step(replicated_job),
        count=max(count, 1),
        containers=tuple(_container(each) for each in spec.get("containers") or ()),
        init_containers=tuple(_container(each) for each in spec.get("initContainers") or ()),
        volumes=tuple(spec.get("volumes") or ()),
    )


def _container(template: JSONObject) -> Container:
    return Container(
        name=template["name"],
        env=tuple(template.get("env") or ()),
        ports=tuple(template.get("ports") or ()),
        volume_mounts=tuple(template.get("volumeMounts") or ()),
        resources=template.get("resources"),
    )


def with_converted_variables(job: TrainJob) -> TrainJob:
    """A copy of the TrainJob whose variables are as the reference's converter leaves them.

    It keeps of a variable's source what it knows: a field's path without its API version, and
    nothing of a key in a file. Rule: reference behaviour 2.4.
    """
    spec, source = job.spec, job.spec.initializer
    changed: dict[str, KubeModel] = {}
    if spec.trainer is not None:
        changed["trainer"] = _with_env(spec.trainer, spec.trainer.env)
    if source is not None:
        parts = {"dataset": source.dataset, "model": source.model}
        given = {name: _with_env(each, each.env) for name, each in parts.items() if each}
        changed["initializer"] = source.model_copy(update=given)
    return job.model_copy(update={"spec": spec.model_copy(update=changed)})


def _with_env(part: KubeModel, env: Iterable[JSONObject] | None) -> KubeModel:
    if env is None:
        return part
    return part.model_copy(update={"env": tuple(_variable(each) for each in env)})


def _variable(variable: JSONObject) -> JSONObject:
    source = variable.get("valueFrom")
    if source is None:
        return variable
    kept = {key: value for key, value in source.items() if key != "fileKeyRef"}
    if "fieldRef" in kept:
        kept["fieldRef"] = {"fieldPath": kept["fieldRef"]["fieldPath"]}
    return {"name": variable["name"], "valueFrom": kept}
