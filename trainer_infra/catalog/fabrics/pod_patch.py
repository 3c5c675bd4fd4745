"""What a training pod gets beside what its runtime says, and a runtime that has it.

Only the jobs that train get it: `node`, and the launcher of MPI where it trains as well. What a runtime
says itself stays: a variable, a resource or an annotation of the same name is not replaced.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject

_JOBS: Final = "spec.template.spec.replicatedJobs"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPatch:
    """Additions to a pod and to its container `node`, in wire form."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, int | str] = field(default_factory=dict)
    """Requests and limits of the container: extended resources need both alike."""
    env: Mapping[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    mounts: tuple[JSONObject, ...] = ()
    volumes: tuple[JSONObject, ...] = ()
    init_containers: tuple[JSONObject, ...] = ()
    """Sidecars that start before the container, in order."""
    tolerations: tuple[JSONObject, ...] = ()


def patched_runtime(runtime: JSONObject, patch: PodPatch) -> JSONDict:
    """A copy of a TrainingRuntime or ClusterTrainingRuntime, in wire form, whose training pods have the additions.

    Raises:
        InvalidInput: It has no job that trains, or has a volume or container of an addition's name.
    """
    made: JSONDict = deepcopy(dict(runtime))
    problems: list[Problem] = []
    jobs = list(_training_jobs(made))
    if not jobs:
        what = f"has no job {names.NODE}, so that there are no pods to add anything to"
        problems.append(Problem(_JOBS, what))
    for job in jobs:
        problems += _patch_pod(job["template"]["spec"]["template"], patch, job["name"])
    if problems:
        where = f"{runtime.get('kind', 'runtime')} {runtime.get('metadata', {}).get('name', '')}"
        raise InvalidInput([Problem(each.path, each.what, fix=each.fix, where=where.strip())
                            for each in problems])  # fmt: skip
    return made


def _training_jobs(runtime: JSONDict) -> Iterator[JSONDict]:
    spec = runtime["spec"]
    launcher_trains = spec.get("mlPolicy", {}).get("mpi", {}).get("runLauncherAsNode", False)
    for each in spec["template"]["spec"]["replicatedJobs"]:
        if each["name"] == names.NODE or (launcher_trains and each["name"] == names.LAUNCHER):
            yield each


def _patch_pod(pod: JSONDict, patch: PodPatch, job: str) -> list[Problem]:
    spec = pod.setdefault("spec", {})
    container = next(
        (each for each in spec.get("containers", ()) if each["name"] == names.NODE), None
    )
    if container is None:
        return [Problem(_JOBS, f"job {job} has no container {names.NODE}")]
    if patch.annotations:
        metadata = pod.setdefault("metadata", {})
        metadata["annotations"] = {**patch.annotations, **metadata.get("annotations", {})}
    _patch_container(container, patch)
    _append(spec, "tolerations", [
        each for each in patch.tolerations if each not in spec.get("tolerations", ())
    ])  # fmt: skip
    problems = [
        *_collisions(spec, "volumes", patch.volumes, job),
        *_collisions(spec, "initContainers", patch.init_containers, job),
    ]
    _append(spec, "volumes", patch.volumes)
    if patch.init_containers:
        spec["initContainers"] = [
            *map(dict, patch.init_containers),
            *spec.get("initContainers", ()),
        ]
    return problems


def _patch_container(container: JSONDict, patch: PodPatch) -> None:
    if patch.resources:
        resources = container.setdefault("resources", {})
        for part in ("requests", "limits"):
            resources[part] = {**patch.resources, **resources.get(part, {})}
    known = {each["name"] for each in container.get("env", ())}
    more = [{"name": key, "value": each} for key, each in patch.env.items() if key not in known]
    _append(container, "env", more)
    places = {each["mountPath"] for each in container.get("volumeMounts", ())}
    _append(container, "volumeMounts", [
        each for each in patch.mounts if each["mountPath"] not in places
    ])  # fmt: skip
    if patch.capabilities:
        context = container.setdefault("securityContext", {})
        added = context.setdefault("capabilities", {})
        there: Sequence[str] = added.get("add", ())
        added["add"] = [*there, *(each for each in patch.capabilities if each not in there)]


def _append(owner: JSONDict, key: str, more: Sequence[JSONObject]) -> None:
    if more:
        owner[key] = [*owner.get(key, ()), *map(dict, more)]


def _collisions(
    spec: JSONDict, key: str, more: Sequence[JSONObject], job: str
) -> Iterator[Problem]:
    taken: dict[str, Any] = {each["name"]: each for each in spec.get(key, ())}
    for each in more:
        if each["name"] in taken:
            what = f"job {job} has {each['name']} already, which the fabric brings"
            yield Problem(f"{_JOBS}.{key}", what, fix="give yours another name")
