"""reserved-env: only the runtime's policy sets the variables that it fills.

Facts: reference behaviour 3.2 to 3.6. The reference refuses those of torch, MPI and
XGBoost in spec.trainer.env; JAX's it lets through, and they win over the right ones. What stands
in a runtime is overwritten.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.render.plugins import mpi, torch, xgboost
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs
from trainer_infra.rules.shape.refusals import Refusal

_TORCH: Final = "torch"
_MPI: Final = "mpi"
_FILLED: Final = {
    _TORCH: torch.RESERVED,
    _MPI: mpi.RESERVED,
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
    """The container that it is of; None for spec.trainer.env, which is that of the nodes."""
    job: Value | None = None
    """The replicated job of that."""
    is_init: bool = False
    """Whether the container is an init container."""


def tells_refusal(refusal: Refusal) -> bool:
    """Whether this rule says why a TrainJob renders to nothing, and `renders` need not."""
    return (
        refusal.value.path[:3] == ("spec", "trainer", "env") and "reserved" in refusal.problem.what
    )


def _places(subject: Subject) -> Iterator[_Variable]:
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


def _check(place: _Variable, context: Context[Parameters]) -> Iterator[Finding]:
    name, policy = place.value["name"], context.subject.ml_policy
    for framework, filled in _FILLED.items():
        is_named = name.text() in filled and policy[framework].is_there()
        if is_named and _is_filled(place, framework, policy):
            fix = _FIXES.get(name.text(), "remove it")
            yield name.finding(f"is filled by mlPolicy.{framework}", name.text(), fix)


def _is_filled(place: _Variable, framework: str, policy: Value) -> bool:
    """Whether the policy writes into the container."""
    if place.container is None or place.job is None:
        return True
    job, container = place.job["name"].text(), place.container["name"].text()
    if framework == _TORCH and _is_target(policy, job, container):
        return True
    if container != names.NODE or place.is_init:
        return False
    is_trainer = jobs.step_label(place.job).text() == names.TRAINER
    return job == names.LAUNCHER if framework == _MPI else is_trainer


def filled(framework: str, container: pods.PodContainer, policy: Value) -> tuple[str, ...]:
    """The variables that a framework's policy writes into a container."""
    place = _Variable(container.value, container.value, container.pod.job, container.is_init)
    return _FILLED.get(framework, ()) if _is_filled(place, framework, policy) else ()


def _is_target(policy: Value, job: str, container: str) -> bool:
    """Whether torch's envInjection names the container."""
    return any(
        each["jobName"].text() == job and container in each["containerNames"].texts()
        for each in policy.at(_TORCH, "envInjection", "targets").items()
    )


RULE: Final = Rule(
    id="reserved-env",
    title="Only the runtime's policy sets the variables that it fills",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "env"),
    why=(
        "The admission of the trainer refuses the TrainJob, or the processes of the nodes do not "
        "find one another; a value in the runtime is overwritten."
    ),
    fix="Remove the variable, and say numNodes and numProcPerNode where those are meant.",
    places=_places,
    check=_check,
)
