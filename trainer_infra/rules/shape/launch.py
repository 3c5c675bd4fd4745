"""How the processes of a training start: variables, the command, and MPI's SSH key."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape.reading import unknown_paths
from trainer_infra.render.command_lines import launch_faults
from trainer_infra.render.command_lines.launch_faults import MPI, TrainingNodes
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.command_lines.references import ContainerVariables
from trainer_infra.render.launch_warnings import starts_training
from trainer_infra.render.plugins import mpi, torch, xgboost
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs
from trainer_infra.rules.value import UnseenValue

_TORCH: Final = "torch"
_FILLED: Final = {
    _TORCH: torch.RESERVED,
    MPI: mpi.RESERVED,
    "xgboost": xgboost.RESERVED,
    "jax": (names.JAX_NUM_PROCESSES, names.JAX_PROCESS_ID, names.JAX_COORDINATOR_ADDRESS),
}
"""The variables that each policy fills."""
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
    container: Value | None = None
    """None for spec.trainer.env, which is that of the nodes."""
    job: Value | None = None
    is_init: bool = False


def _places_of_variables(subject: Subject) -> Iterator[_Variable]:
    if subject.kind == names.TRAIN_JOB:
        for each in subject.object.at("spec", "trainer", "env").items():
            yield _Variable(each)
        for patch in subject.object.at("spec", "runtimePatches").items():
            yield from _of_patch(patch)
        return
    for container in pods.containers(subject):
        for each in container.value["env"].items():
            yield _Variable(each, container.value, container.pod.job, container.is_init)


def _of_patch(patch: Value) -> Iterator[_Variable]:
    found = patch.at("trainingRuntimeSpec", "template", "spec", "replicatedJobs")
    for job in found.items():
        for key in ("initContainers", "containers"):
            for container in jobs.pod_spec(job)[key].items():
                for each in container["env"].items():
                    yield _Variable(each, container, job, key == "initContainers")


def _check_variable(place: _Variable, context: Context[Parameters]) -> Iterator[Finding]:
    name, policy = place.value["name"], context.subject.ml_policy
    for framework, variables in _FILLED.items():
        is_named = name.text() in variables and policy[framework].is_there()
        if is_named and _is_filled(place, framework, policy):
            fix = _FIXES.get(name.text(), "remove it")
            yield name.finding(f"is filled by mlPolicy.{framework}", name.text(), fix)


def _is_filled(place: _Variable, framework: str, policy: Value) -> bool:
    if place.container is None or place.job is None:
        return True
    job, container = place.job["name"].text(), place.container["name"].text()
    if framework == _TORCH and _is_target(policy, job, container):
        return True
    if container != names.NODE or place.is_init:
        return False
    is_trainer = jobs.step_label(place.job).text() == names.TRAINER
    return job == names.LAUNCHER if framework == MPI else is_trainer


def _is_target(policy: Value, job: str, container: str) -> bool:
    """Whether torch's envInjection names the container."""
    return any(
        each["jobName"].text() == job and container in each["containerNames"].texts()
        for each in policy.at(_TORCH, "envInjection", "targets").items()
    )


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


def _check_command(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    written = [item for key in ("command", "args") for item in place.value[key].items()]
    words = [each.text() for each in written]
    if not words:
        return
    policy = context.subject.ml_policy
    framework = jobs.framework(policy)
    variables = _variables(place, framework, context.subject)
    line, around = read_command_line(words, variables), None
    if not place.is_init and starts_training(
        framework, place.pod.job["name"].raw, place.value["name"].raw, trains=place.pod.trains
    ):
        around = _training_nodes(framework, context.subject, variables)
        if not line.faults and launch_faults.is_unread(line, around):
            raise UnseenValue(written[0].written.path)
    for each in launch_faults.launch_faults_of(line, words, around, variables):
        word = written[each.item]
        yield word.finding(each.what, word.raw, each.fix)


def _variables(place: PodContainer, framework: str, subject: Subject) -> ContainerVariables:
    """Those of the container as it will run: a runtime has not yet what its policy adds."""
    here = _Variable(place.value, place.value, place.pod.job, place.is_init)
    is_filled = _is_filled(here, framework, subject.ml_policy)
    filled = _FILLED.get(framework, ()) if is_filled else ()
    values: dict[str, str | None] = dict.fromkeys(filled)
    for each in place.value["env"].items():
        value = each["value"].raw
        values[each["name"].text()] = value if isinstance(value, str) else None
    targets = unknown_paths(subject.ml_policy.at("torch", "envInjection").raw)
    return ContainerVariables(
        values, are_all=not place.value["envFrom"].is_there() and next(targets, None) is None
    )


def _training_nodes(
    framework: str, subject: Subject, variables: ContainerVariables
) -> TrainingNodes:
    found = (amounts.gpus_of(each.value) for each in nodes.training_containers(subject))
    devices = max((int(each.count) for each in found if each), default=0)
    slots = _slots(subject, variables, devices)
    return TrainingNodes(framework, nodes.total(subject), devices, slots)


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
    places=pods.containers,
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
