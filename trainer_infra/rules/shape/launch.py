"""How the processes of a training start: variables, the command, and MPI's SSH key."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape.reading import has_unknown
from trainer_infra.render.command_lines import launch_faults
from trainer_infra.render.command_lines.node_counts import MPI, TrainingNodes
from trainer_infra.render.command_lines.references import ContainerVariables
from trainer_infra.render.launch_warnings import lacks_devices, starts_training
from trainer_infra.render.plugins import mpi
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, commands, nodes, policy_variables
from trainer_infra.rules.placement.commands import ContainerCommand
from trainer_infra.rules.pods import Pod, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs
from trainer_infra.rules.value import UnseenValue, is_mapping

_NODES: Final = "set spec.trainer.numNodes instead"
_PROCESSES: Final = "set spec.trainer.numProcPerNode instead"
_FIXES: Final = {
    names.PET_NNODES: _NODES,
    names.JAX_NUM_PROCESSES: _NODES,
    names.DMLC_NUM_WORKER: _NODES,
    names.PET_NPROC_PER_NODE: _PROCESSES,
    names.OMPI_DEFAULT_SLOTS: _PROCESSES,
}


@dataclass(frozen=True, slots=True)
class _Variable:
    """A variable that a user wrote."""

    value: Value
    """The EnvVar."""
    within: PodContainer | None = None
    """Its container; None for spec.trainer.env, which is that of the nodes."""


def _places_of_variables(subject: Subject) -> Iterator[_Variable]:
    if subject.kind == names.TRAIN_JOB:
        for each in subject.object.at("spec", "trainer", "env").items():
            yield _Variable(each)
        for patch in subject.object.at("spec", "runtimePatches").items():
            yield from _of_patch(patch)
        return
    for container in pods.containers(subject):
        for each in container.value["env"].items():
            yield _Variable(each, container)


def _of_patch(patch: Value) -> Iterator[_Variable]:
    found = patch.at("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
    for job in found.items():
        spec = job.at("template", "spec")
        pod = Pod(job, spec, spec["template"], "")
        for key in ("initContainers", "containers"):
            for container in pod.spec[key].items():
                within = PodContainer(container, pod, key == "initContainers")
                yield from (_Variable(each, within) for each in container["env"].items())


def _check_variable(place: _Variable, context: Context[Parameters]) -> Iterator[Finding]:
    name, policy = place.value["name"].text(), context.subject.ml_policy
    for framework, variables in policy_variables.FILLED.items():
        is_named = name in variables and policy[framework].is_there()
        if is_named and policy_variables.is_filled(place.within, framework, policy):
            fix = _FIXES.get(name, "remove it")
            yield place.value["name"].finding(f"is filled by mlPolicy.{framework}", name, fix)


RESERVED_ENV: Final = Rule(
    id="reserved-env",
    title="Only the runtime's policy may set the variables that it manages",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "env"),
    why=(
        "The trainer's admission rejects the TrainJob, or the nodes' processes cannot find each "
        "other; a value in the runtime is overwritten."
    ),
    fix="Remove the variable, and use numNodes and numProcPerNode instead.",
    places=_places_of_variables,
    check=_check_variable,
)
"""Facts: reference behaviour 3.2 to 3.6. The reference refuses those of torch, MPI and
XGBoost in spec.trainer.env; JAX's it lets through, and they win over the right ones. What stands
in a runtime is overwritten.
"""


def _check_command(place: ContainerCommand, context: Context[Parameters]) -> Iterator[Finding]:
    container, words = place.container, [each.raw for each in place.words]
    if container is None or not place.is_main or not words:
        return
    framework = policy_variables.framework_of(context.subject.ml_policy)
    around, texts = None, [each if isinstance(each, str) else "" for each in words]
    if not container.is_init and starts_training(
        framework,
        container.pod.job["name"].raw,
        container.value["name"].raw,
        trains=container.pod.trains,
    ):
        around = _training_nodes(framework, context.subject, place.variables)
        if not place.line.faults and launch_faults.is_unread(place.line, around):
            raise UnseenValue(place.words[0].written.path)
    for each in launch_faults.launch_faults_of(place.line, texts, around, place.variables):
        word = place.words[each.item]
        yield word.finding(each.what, word.raw, each.fix)


def _training_nodes(
    framework: str, subject: Subject, variables: ContainerVariables
) -> TrainingNodes:
    training = [each.value for each in nodes.training_containers(subject)]
    devices = max((int(each.count) for each in map(amounts.gpus_of, training) if each), default=0)
    asked = [each["resources"].raw for each in training]
    return TrainingNodes(
        framework,
        nodes.total(subject),
        devices,
        _slots(subject, variables, devices),
        subject.object.at("spec", "trainer", "numProcPerNode").number(),
        lacks_devices=bool(asked)
        and all(
            is_mapping(each) and not has_unknown(each) and lacks_devices(each) for each in asked
        ),
    )


def _slots(subject: Subject, variables: ContainerVariables, devices: int) -> int:
    rendered = variables.values.get(names.OMPI_DEFAULT_SLOTS)
    if rendered and rendered.isdecimal():
        return int(rendered)
    written = subject.ml_policy.at(MPI, "numProcPerNode").number()
    return written if written and written != 1 else max(devices, 1)


TRAINING_COMMAND: Final = Rule(
    id="training-command",
    title="Commands must start one training across all nodes",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "command", "processes"),
    why=(
        "Each node trains alone, or one node trains while the others wait at your cost. The run "
        "completes with the result of a single node, or never ends."
    ),
    fix="Start the program as the runtime's framework does: torchrun for torch, mpirun for MPI.",
    places=commands.commands_of,
    check=_check_command,
)
"""The reader of command lines is `render/command_lines`; a preview says the same."""


def _check_ssh_key(jobset: Value, context: Context[Parameters]) -> Iterator[Finding]:
    policy = context.subject.ml_policy[MPI]
    if not policy.is_there():
        return
    path = policy["sshAuthMountPath"].text() or mpi.MOUNT_PATH
    for job in jobset["replicatedJobs"].items():
        pod = jobs.pod_spec(job)
        group = pod.at("securityContext", "fsGroup")
        if job["name"].text() not in {names.LAUNCHER, names.NODE} or not group.is_there():
            continue
        for container in pod["containers"].items():
            own = container.at("securityContext", "runAsUser").number()
            user = pod.at("securityContext", "runAsUser").number() if own is None else own
            if container["name"].text() == names.NODE and mpi.is_roots_key(user, path):
                what = "makes the SSH key readable for a group, and ssh ignores such a key as root"
                fix = "leave it out, or set runAsUser to another user than root"
                yield group.finding(what, group.raw, fix)


SSH_KEY_GROUP: Final = Rule(
    id="ssh-key-group",
    title="Only root may be able to read root's SSH key",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "mpi", "ssh"),
    why=(
        "With fsGroup the kubelet lets that group read the key. ssh ignores a key that others can "
        "read, so mpirun reaches no node, and the launcher fails once all nodes are up."
    ),
    fix="Remove fsGroup from the pods, or run them as a user other than root.",
    places=pods.jobsets,
    check=_check_ssh_key,
)
"""Where a pod has an fsGroup, the kubelet makes each file of a Secret volume readable for that group (Kubernetes,
"Configure volume permission"); ssh takes no key of its own user that others may read (OpenSSH, sshkey_perm_ok).
"""
