"""Variables of a container: those that stand there, and those that the runtime's policy adds."""

from typing import Final

from trainer_infra import names
from trainer_infra.api.shape.reading import has_unknown
from trainer_infra.render import resolve
from trainer_infra.render.command_lines.references import ContainerVariables
from trainer_infra.render.launch_warnings import FRAMEWORKS
from trainer_infra.render.plugins import mpi, torch, xgboost
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Subject, Value
from trainer_infra.rules.value import UNKNOWN

_TORCH, _MPI = "torch", "mpi"
FILLED: Final = {
    _TORCH: torch.RESERVED,
    _MPI: mpi.RESERVED,
    "xgboost": xgboost.RESERVED,
    "jax": (names.JAX_NUM_PROCESSES, names.JAX_PROCESS_ID, names.JAX_COORDINATOR_ADDRESS),
}
"""The variables that each policy fills."""


def framework_of(policy: Value) -> str:
    """The framework of an mlPolicy; empty for none."""
    return next((each for each in FRAMEWORKS if policy[each].is_there()), "")


def is_filled(place: PodContainer | None, framework: str, policy: Value) -> bool:
    """Whether the policy adds its variables there; None stands for the nodes of a TrainJob."""
    if place is None:
        return True
    job, container = place.pod.name(), place.value["name"].text()
    targets = policy.at(_TORCH, "envInjection", "targets").items() if framework == _TORCH else ()
    if any(
        each["jobName"].text() == job and container in each["containerNames"].texts()
        for each in targets
    ):
        return True
    if container != names.NODE or place.is_init:
        return False
    is_trainer = place.pod.job.at(*resolve.ANCESTOR_PATH).text() == names.TRAINER
    return job == names.LAUNCHER if framework == _MPI else is_trainer


def variables_of(place: PodContainer, subject: Subject) -> ContainerVariables:
    """Those of the container as it will run: a runtime has not yet what its policy adds."""
    policy = subject.ml_policy
    if has_unknown(policy.raw):
        values, are_all = dict[str, str | None](), False
    else:
        framework = framework_of(policy)
        filled = is_filled(place, framework, policy)
        values, are_all = dict.fromkeys(FILLED.get(framework, ()) if filled else ()), True
    for each in place.value["env"].items():
        name, value = each["name"].raw, each["value"].raw
        if isinstance(name, str):
            values[name] = value if isinstance(value, str) else None
        are_all = are_all and name is not UNKNOWN
    env_from = place.value["envFrom"]
    return ContainerVariables(
        values, are_all=are_all and not (env_from.is_noted() or env_from.is_there())
    )
