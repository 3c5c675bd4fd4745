"""idle-gpus: a container that asks for GPUs does not only wait on them."""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import LauncherKind, separated
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, commands
from trainer_infra.rules.placement.commands import ContainerCommand
from trainer_infra.rules.pod_security.open_servers import server_of
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject
from trainer_infra.rules.value import ABSENT

_IDLE: Final = frozenset(
    {
        *("sleep", "echo", "printf", "date", "true", ":", "nvidia-smi", "rocm-smi", "wait", "read"),
        *("ls", "jobs"),
    }
)
"""Programs by which a loop does nothing with GPUs."""
_PREPARES: Final = _IDLE | {
    *("tail", "kill", "exit", "cd", "mkdir", "touch", "chmod", "set", "ulimit"),
}
"""Programs beside which nothing trains."""
_SERVES: Final = frozenset({"sshd", "ray", "slurmd", "flux", "dask-worker", "orted", "prted"})
"""Programs in the background by which another pod starts the training here."""
_OF_TAIL: Final = frozenset({"-n", "-c", "--lines", "--bytes", "-s"})
_FOLLOWS: Final = ("-f", "-F", "--follow", "--retry")
_INTERACTIVE: Final = ("jupyter", "code-server", "openvscode-server")
_APPLICATIONS: Final = (("lab",), ("notebook",), ("server",), ("nbclassic",))
"""Of jupyter, those that are servers."""
_END: Final = "let the command end with the training, or leave the GPUs out"


class IdleGpus(Parameters):
    """How long a container may wait."""

    at_most_seconds: int = 600
    """The longest wait of a command on GPUs, in seconds."""


def _check_idle(place: ContainerCommand, context: Context[IdleGpus]) -> Iterator[Finding]:
    container, every = place.container, place.line.every
    if container is None or container.is_init or not place.is_main or not every:
        return
    found = _waiting(place, container, context)
    reads = container.value["stdin"].raw is True or container.value["tty"].raw is True
    if found is None and reads and len(every) == 1 and _takes_input(every[0]):
        found = every[0], "is a terminal that waits for input, and the GPUs are kept until then"
    if found and amounts.gpus_of(container.value):
        yield place.finding(*found, _END)


def _waiting(
    place: ContainerCommand, container: PodContainer, context: Context[IdleGpus]
) -> tuple[Program, str] | None:
    """The program that waits, and how."""
    every = place.line.every
    for each in every:
        if each.kind == LauncherKind.PYTHON and any(code.sleeps for code in place.codes):
            return each, "has Python sleep, and the GPUs are kept while it waits"
    notebooks = [each for each in every if each.is_main and _is_notebook(each)]
    prepares = (each.file in _PREPARES or each in notebooks for each in every if each.is_main)
    is_joined = any(each.name == "wait" for each in every) and all(prepares)
    serves = any(each.file in _SERVES for each in every)
    for each in every:
        if each.around.is_background and not is_joined:
            continue
        if each in notebooks and not _has_deadline(container, context.subject):
            return each, "is a notebook without a deadline, and the GPUs are kept until then"
        what = "" if serves else _wait(each, every, context.parameters.at_most_seconds)
        if what:
            return each, f"{what}, and the GPUs are kept while it waits"
    return None


def _wait(program: Program, every: Sequence[Program], most: int) -> str:
    """How a program waits; empty where it does not for long."""
    slept = commands.slept(program)
    if sum(seconds for _, seconds in slept) > most:
        return f"sleeps {' '.join(word for word, _ in slept)}"
    if program.around.is_endless and all(
        each.file in _IDLE for each in every if each.around.is_endless
    ):
        return "does nothing in a loop without an end"
    if program.file == "tail" and not program.around.reads:
        options, files = separated(program.starts, _OF_TAIL)
        follows = not options.keys().isdisjoint(_FOLLOWS) and "--pid" not in options
        if follows and (files == ("/dev/null",) or program is every[-1]):
            return "follows a file without an end"
    return "waits for a signal" if program.file == "pause" and len(every) == 1 else ""


def _takes_input(program: Program) -> bool:
    """Whether it is a shell or `cat` that reads what a person types."""
    is_shell = program.kind == LauncherKind.SHELL and not program.operands
    return is_shell or (program.file == "cat" and program.starts in ((), ("-",)))


def _is_notebook(program: Program) -> bool:
    name, words = server_of(program)
    return name in _INTERACTIVE and (program.file != "jupyter" or words[:1] in _APPLICATIONS)


def _has_deadline(container: PodContainer, subject: Subject) -> bool:
    pod = container.pod
    holders = [pod.spec, pod.job_spec, pod.job["spec"]]
    holders += [subject.object["spec"]] if subject.kind == names.TRAIN_JOB else []
    return any(each["activeDeadlineSeconds"].raw is not ABSENT for each in holders)


RULE: Final = Rule(
    id="idle-gpus",
    title="Containers with GPUs must not only wait",
    severity=Severity.MEDIUM,
    kinds=pods.WORKLOADS,
    tags=("capacity", "commands", "gpu", "cost"),
    why=(
        "The GPUs are reserved and paid for as long as the command runs: a job that sleeps after its "
        "training, or instead of one, keeps them from everyone else."
    ),
    fix="Let the command end with the training; to look into a pod, use kubectl exec while it trains.",
    places=commands.commands_of,
    check=_check_idle,
    parameters=IdleGpus,
)
