"""JobSet: the object that runs a TrainJob.

Writes what the plugins decided and what the TrainJob says into the runtime's template. Rules:
reference behaviour 4.4 and 4.5; validation: reference behaviour 5.1.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.api import quantity
from trainer_infra.api.runtime import MPI
from trainer_infra.api.trainjob import DatasetInitializer, ModelInitializer, TrainJob
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import (
    child_metadata,
    initializer,
    metadata_name,
    resolve,
    runtime_patches,
    trainer_env,
)
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Container, Draft, PodSet, upsert_env, upsert_ports
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import Plugin, Watch

RUNS_ONCE: Final = (names.TRAINER, names.DATASET_INITIALIZER, names.MODEL_INITIALIZER)


def validate(draft: Draft) -> Iterable[Problem]:
    """Initializers, runtime patches, the length of the name, nodes and resources."""
    yield from initializer.initializer_problems(draft)
    yield from runtime_patches.patch_problems(draft)
    yield from metadata_name.name_problems(draft)
    yield from trainer_env.num_nodes_problems(draft)
    yield from trainer_env.num_proc_problems(draft)
    yield from trainer_env.args_problems(draft)
    yield from resource_problems(draft)


def should_write(_jobset: JSONObject, job: TrainJob, observed: ObservedObjects) -> bool:
    """Never on a running JobSet: only when there is none, or it or the TrainJob is suspended."""
    live = observed.jobset
    return live is None or bool(job.spec.suspend or (live.get("spec") or {}).get("suspend"))


def build(draft: Draft) -> Iterable[JSONObject]:
    """The JobSet, named as the TrainJob."""
    metadata = dict(child_metadata.metadata_of_child(draft.job, ""))
    for key, value in (("labels", draft.labels), ("annotations", draft.annotations)):
        if value:
            metadata[key] = dict(value)
    parts = zip(draft.spec["replicatedJobs"], draft.pod_sets, strict=True)
    jobs = [_replicated_job(draft, template, pod_set) for template, pod_set in parts]
    spec = {**draft.spec, "replicatedJobs": jobs, "suspend": bool(draft.job.spec.suspend)}
    identity = {"apiVersion": names.JOBSET_API_VERSION, "kind": names.JOBSET}
    yield {**identity, "metadata": metadata, "spec": spec}


def _replicated_job(draft: Draft, template: JSONObject, pod_set: PodSet) -> JSONObject:
    spec = dict(resolve.pod_spec(template))
    if pod_set.scheduler_name:
        spec["schedulerName"] = pod_set.scheduler_name
    if pod_set.volumes:
        spec["volumes"] = list(pod_set.volumes)
    lists = {"initContainers": pod_set.init_containers, "containers": pod_set.containers}
    for key, containers in lists.items():
        if containers:
            templates = list(spec.get(key) or ())
            missing = [{"name": each.name} for each in containers[len(templates) :]]
            spec[key] = [
                _container(draft, template, each)
                for template, each in zip([*templates, *missing], containers, strict=True)
            ]
    main = spec.get("containers") or ()
    spec["containers"] = [_overridden(draft, pod_set, each) for each in main]
    job = resolve.with_pod_spec(template, spec)
    counts = {"parallelism": pod_set.count, "completions": pod_set.count}
    job_spec = {**job["template"]["spec"], **counts}
    job_spec["template"] = _with_pod_metadata(job_spec["template"], pod_set)
    result = {**job, "template": {**job["template"], "spec": job_spec}}
    if pod_set.ancestor in RUNS_ONCE:
        result["replicas"] = 1
    return result


def _container(draft: Draft, template: JSONObject, changed: Container) -> JSONObject:
    result = dict(template)
    ports = changed.ports
    if ports and not draft.ours(Deviation.Q17):
        # The reference writes each port a second time, over one it takes for the same (Q17).
        first = ports[: len(template.get("ports") or ())]
        ports = upsert_ports(first, ports, unnamed_are_same=True)
    if changed.image:
        result["image"] = changed.image
    if changed.command:
        result["command"] = list(changed.command)
    lists = {"env": changed.env, "ports": ports, "volumeMounts": changed.volume_mounts}
    return {**result, **{key: list(value) for key, value in lists.items() if value}}


def _overridden(draft: Draft, pod_set: PodSet, container: JSONObject) -> JSONObject:
    """What the TrainJob itself says about this container."""
    spec = draft.job.spec
    if pod_set.ancestor == names.TRAINER and container["name"] == names.NODE:
        result = dict(container)
        for key, value in (("command", draft.command), ("args", draft.args)):
            if value is not None:
                result[key] = list(value)
        if draft.trainer_spec.image is not None:
            result["image"] = draft.trainer_spec.image
        return _with_user_env(result, draft)
    mpi = draft.ml_policy.mpi
    if pod_set.name == container["name"] == names.NODE and mpi is not None:
        return _mpi_node(draft, mpi, container)
    if spec.initializer and container["name"] == pod_set.ancestor:
        source = {
            names.DATASET_INITIALIZER: spec.initializer.dataset,
            names.MODEL_INITIALIZER: spec.initializer.model,
        }.get(container["name"])
        return container if source is None else _initializer(container, source)
    return container


def _mpi_node(draft: Draft, mpi: MPI, container: JSONObject) -> JSONObject:
    """What the launcher starts the program in."""
    if draft.trainer_spec.image is not None and draft.ours(Deviation.MPI_IMAGE):
        container = {**container, "image": draft.trainer_spec.image}
    # Where the launcher is a node, the nodes run what it runs, and so have the same variables.
    return _with_user_env(container, draft) if mpi.run_launcher_as_node else container


def _with_user_env(container: JSONObject, draft: Draft) -> JSONObject:
    """The container with the TrainJob's variables, over all that plugins wrote."""
    if not draft.trainer_spec.env:
        return container
    return {
        **container,
        "env": list(upsert_env(container.get("env") or (), draft.trainer_spec.env)),
    }


def _initializer(
    container: JSONObject, source: DatasetInitializer | ModelInitializer
) -> JSONObject:
    given = source.storage_uri
    uri = () if given is None else ({"name": names.STORAGE_URI, "value": given},)
    env = upsert_env(upsert_env(container.get("env") or (), uri), source.env or ())
    result = {**container, "env": list(env)} if env else dict(container)
    if source.secret_ref is not None:
        reference = {"secretRef": dict(source.secret_ref)}
        result["envFrom"] = [*(container.get("envFrom") or ()), reference]
    return result


def _with_pod_metadata(pod_template: JSONObject, pod_set: PodSet) -> JSONObject:
    if not pod_set.labels and not pod_set.annotations:
        return pod_template
    metadata = dict(pod_template.get("metadata") or {})
    for key, added in (("labels", pod_set.labels), ("annotations", pod_set.annotations)):
        if added:
            metadata[key] = {**(metadata.get(key) or {}), **added}
    return {**pod_template, "metadata": metadata}


PLUGIN = Plugin(
    name="JobSet",
    applies=lambda _: True,
    validate=validate,
    build=build,
    should_write=should_write,
    watches=(Watch(names.JOBSET_API_VERSION, "JobSet"),),
)


def resource_problems(draft: Draft) -> Iterable[Problem]:
    """Requests above their limit, and devices whose request is not their limit.

    The reference admits any, and the pods are then refused forever. Rule: Kubernetes' validation of
    ResourceRequirements; the merge: reference behaviour 2.3.
    """
    is_merged = draft.trainer_spec.resources_per_node and draft.runtime.spec.ml_policy is not None
    if not is_merged or not draft.ours(Deviation.RESOURCES):
        return
    nodes = (
        each.container(names.NODE)
        for each in draft.pod_sets
        if each.name == names.NODE or each.ancestor == names.TRAINER
    )
    # Launcher and node may be wrong alike.
    yield from dict.fromkeys(
        problem for each in nodes if each for problem in _of_container(each.resources or {})
    )


def _of_container(resources: JSONObject) -> Iterable[Problem]:
    requests, limits = (resources.get(part) or {} for part in ("requests", "limits"))
    where = "spec.trainer.resourcesPerNode"
    for name in dict.fromkeys((*limits, *requests)):
        # Kubernetes' own resources have no domain; a device cannot be shared out.
        is_device = "/" in name
        limit = limits.get(name)
        request = requests.get(name, limit)
        wanted = quantity.parse_quantity(request)
        if is_device and wanted != wanted.to_integral_value():
            yield Problem(
                f"{where}.{'requests' if name in requests else 'limits'}[{name}]",
                "must be a whole number: a device is given to one container as a whole",
                got=request,
                fix="write 1 or more; a part of a GPU is a resource of its own, such as a MIG slice",
            )
        elif limit is None:
            if is_device or name.startswith("hugepages-"):
                yield Problem(
                    f"{where}.limits[{name}]",
                    "is missing, and Kubernetes takes no request for a device without its limit",
                    fix=f"write the limit {request}, too",
                )
        elif wanted > (most := quantity.parse_quantity(limit)) or (is_device and wanted != most):
            yield Problem(
                f"{where}.requests[{name}]",
                "must not be above its limit, and for a device equal to it, once both are merged "
                "with the runtime's",
                got=f"request {request}, limit {limit}",
                fix=f"set both for {name}",
            )
