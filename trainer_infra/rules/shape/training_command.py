"""training-command: the command of a training starts it on all nodes, with the processes that they can have.

The reader of command lines is `render/command_lines`; a preview says the same.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.command_lines import launch_faults
from trainer_infra.render.command_lines.launch_faults import MPI, TrainingNodes
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.command_lines.references import ContainerVariables
from trainer_infra.render.launch_warnings import FRAMEWORKS, starts_training
from trainer_infra.rules import pods, unknown
from trainer_infra.rules.placement import gpus, nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject
from trainer_infra.rules.shape import reserved_env
from trainer_infra.rules.value import UnseenValue


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    written = [item for key in ("command", "args") for item in place.value[key].items()]
    words = [each.text() for each in written]
    if not words:
        return
    framework = _framework(context.subject)
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


def _framework(subject: Subject) -> str:
    policy = subject.ml_policy
    return next((each for each in FRAMEWORKS if policy[each].is_there()), "")


def _variables(place: PodContainer, framework: str, subject: Subject) -> ContainerVariables:
    """Those of the container as it will run: a runtime has not yet what its policy adds."""
    filled = reserved_env.filled(framework, place, subject.ml_policy)
    values: dict[str, str | None] = dict.fromkeys(filled)
    for each in place.value["env"].items():
        value = each["value"].raw
        values[each["name"].text()] = value if isinstance(value, str) else None
    targets = unknown.unknown_paths(subject.ml_policy.at("torch", "envInjection").raw)
    return ContainerVariables(
        values, are_all=not place.value["envFrom"].is_there() and next(targets, None) is None
    )


def _training_nodes(
    framework: str, subject: Subject, variables: ContainerVariables
) -> TrainingNodes:
    found = (gpus.gpus_of(each.value) for each in nodes.training_containers(subject))
    devices = max((int(each.count) for each in found if each), default=0)
    return TrainingNodes(
        framework, nodes.total(subject), devices, _slots(subject, variables, devices)
    )


def _slots(subject: Subject, variables: ContainerVariables, devices: int) -> int:
    rendered = variables.values.get(names.OMPI_DEFAULT_SLOTS)
    if rendered and rendered.isdecimal():
        return int(rendered)
    written = subject.ml_policy.at(MPI, "numProcPerNode").number()
    return written if written and written != 1 else max(devices, 1)


RULE: Final = Rule(
    id="training-command",
    title="Commands start the training on all nodes together",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "command", "processes"),
    why=(
        "Each node trains alone, or one does and the others wait and are paid for; the run is "
        "Complete, with the result of one node, or it never ends."
    ),
    fix="Start the program as the runtime's framework does: torchrun for torch, mpirun for MPI.",
    places=pods.containers,
    check=_check,
)
