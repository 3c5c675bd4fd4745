"""What a preview says of the commands that a TrainJob's pods start: see `command_lines`.

A rule says the same of files: rules/shape/launch.py.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import shown
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve, resources
from trainer_infra.render.command_lines import launch_faults
from trainer_infra.render.command_lines.command_line import CommandLine
from trainer_infra.render.command_lines.node_counts import MPI, TrainingNodes
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.command_lines.references import ContainerVariables
from trainer_infra.render.plugins import mpi

FRAMEWORKS: Final = ("torch", MPI, "jax", "xgboost", "flux")
"""Fields of mlPolicy that say what the nodes are given."""
MOST_CHARACTERS: Final = 2**17
"""Of the commands of one run that are read: a webhook serves others, too."""


def launch_sentences(job: TrainJob, runtime: Runtime, job_set: JSONObject) -> Iterator[str]:
    """What would not train on all nodes, or be started at all, of what a TrainJob renders to."""
    own = [each["name"] for each in (job.spec.trainer and job.spec.trainer.env) or ()]
    policy = runtime.spec.ml_policy
    wire = policy.to_wire() if policy else {}
    framework = next((each for each in FRAMEWORKS if each in wire), "")
    jobs = job_set["spec"]["replicatedJobs"]
    nodes = replace(
        _training_nodes(framework, wire, jobs),
        processes=job.spec.trainer.num_proc_per_node if job.spec.trainer else None,
    )
    if framework == MPI:
        yield from _refused_keys(jobs)
    left = MOST_CHARACTERS
    for replicated, container, is_init in _containers(jobs):
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        left -= sum(map(len, words))
        if left < 0:
            return
        is_start = not is_init and starts_training(
            framework, replicated["name"], container["name"], trains=resolve.trains(replicated)
        )
        variables = _variables(container)
        line = read_command_line(words, variables)
        found = launch_faults.launch_faults_of(line, words, nodes if is_start else None, variables)
        for each in found:
            where = f"job {replicated['name']}, container {container['name']}"
            before = words[each.item - 1] if each.item else ""
            yield f"{where}: {shown(words[each.item], name=before)} {each.what}; {each.fix}"
        if is_start and framework == MPI and not found:
            yield from _not_exported(own, line, variables)


def _refused_keys(jobs: Iterable[JSONObject]) -> Iterator[str]:
    """Keys of root that the kubelet makes readable for a group, which ssh does not accept of its own user."""
    for job in jobs:
        spec = resolve.pod_spec(job)
        group = (spec.get("securityContext") or {}).get("fsGroup")
        keys = (v for v in spec.get("volumes") or () if v["name"] == names.SSH_AUTH_VOLUME)
        modes = {item["mode"] for each in keys for item in each["secret"]["items"]}
        if group is not None and mpi.OF_OWNER in modes:
            yield (
                f"job {job['name']}: with fsGroup {group} the kubelet makes the SSH key readable for that group, and "
                "ssh ignores such a key as root; leave fsGroup out, or run as another user"
            )


def _not_exported(
    own: Sequence[str], line: CommandLine, variables: ContainerVariables
) -> Iterator[str]:
    """Variables of the TrainJob that SSH does not bring to the ranks."""
    exported = line.exports()
    if names.OMPI_EXPORTED in variables.values:
        return
    missing = [each for each in own if each not in (exported or ())]
    if missing:
        yield (
            f"spec.trainer.env: processes that mpirun starts on other nodes have no {' and no '.join(missing)}; "
            f"write {' '.join(f'-x {each}' for each in missing)} after mpirun"
        )


def _containers(jobs: Iterable[JSONObject]) -> Iterator[tuple[JSONObject, JSONObject, bool]]:
    for job in jobs:
        spec = resolve.pod_spec(job)
        for kind in ("initContainers", "containers"):
            yield from ((job, each, kind == "initContainers") for each in spec.get(kind) or ())


def starts_training(framework: str, job: object, container: object, *, trains: bool) -> bool:
    """Whether a container starts the training: with MPI the launcher's does."""
    return container == names.NODE and (job == names.LAUNCHER if framework == MPI else trains)


def _variables(container: JSONObject) -> ContainerVariables:
    values = {each["name"]: each.get("value") for each in container.get("env") or ()}
    return ContainerVariables(values, are_all=not container.get("envFrom"))


def _training_nodes(
    framework: str, policy: JSONObject, jobs: Sequence[JSONObject]
) -> TrainingNodes:
    is_mpi = framework == MPI
    joins = is_mpi and bool((policy[MPI] or {}).get("runLauncherAsNode"))
    training = [
        each for each in jobs if (each["name"] == names.NODE if is_mpi else resolve.trains(each))
    ]
    nodes = [resolve.node_container(resolve.pod_spec(each)) for each in training]
    asked = [each.get("resources") or {} for each in nodes]
    devices = max(map(resources.devices, asked), default=0)
    launchers = (resolve.pod_spec(each) for each in jobs if each["name"] == names.LAUNCHER)
    values = (_variables(resolve.node_container(each)).values for each in launchers)
    slots = next((each.get(names.OMPI_DEFAULT_SLOTS) for each in values), None) or ""
    count = sum(_count(each) for each in training) + joins
    return TrainingNodes(
        framework,
        count,
        devices,
        int(slots) if slots.isdecimal() else 1,
        lacks_devices=bool(asked) and all(map(lacks_devices, asked)),
    )


def lacks_devices(asked: JSONObject) -> bool:
    """Whether a container says what it needs, and no accelerator is among that."""
    says = any(asked.get(part) for part in ("limits", "requests"))
    return says and not asked.get("claims") and not resources.devices(asked)


def _count(job: JSONObject) -> int:
    spec = job["template"].get("spec") or {}
    return int(job.get("replicas") or 1) * int(spec.get("parallelism") or 1)


def volume_sentences(job_set: JSONObject) -> Iterator[str]:
    """A sentence for each volume whose claim another volume of the pod has: such a pod never starts.

    A rule says the same of files: rules/data/claims.py.
    """
    for job in job_set["spec"]["replicatedJobs"]:
        volumes = [
            ((each.get("persistentVolumeClaim") or {}).get("claimName"), each["name"])
            for each in resolve.pod_spec(job).get("volumes") or ()
        ]
        for index, first in claims_again(volumes):
            claim, name = volumes[index]
            yield (
                f"job {job['name']}: the volumes {first!r} and {name!r} use one claim, {claim}, "
                f"and the kubelet never starts such a pod; mount {first!r} twice, with a subPath each"
            )


def claims_again(volumes: Iterable[tuple[str | None, str]]) -> Iterator[tuple[int, str]]:
    """Of a pod's volumes, as claim and name, those whose claim an earlier one has: place, and its name."""
    first: dict[str, str] = {}
    for index, (claim, name) in enumerate(volumes):
        if claim in first:
            yield index, first[claim]
        elif claim:
            first[claim] = name
