"""idle-gpus: a container that asks for GPUs does not only wait on them."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import LauncherKind, separated
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, commands
from trainer_infra.rules.placement.commands import ContainerCommand
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject
from trainer_infra.rules.value import ABSENT

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_IDLE: Final = frozenset(
    {
        "sleep",
        "echo",
        "printf",
        "date",
        "true",
        ":",
        "nvidia-smi",
        "rocm-smi",
        "wait",
        "read",
        "ls",
        "jobs",
    }
)
"""Programs by which a loop does nothing with GPUs."""
_PREPARES: Final = _IDLE | {
    "tail",
    "kill",
    "exit",
    "cd",
    "mkdir",
    "touch",
    "chmod",
    "set",
    "ulimit",
}
"""Programs beside which nothing trains."""
_SERVES: Final = frozenset({"sshd", "ray", "slurmd", "flux", "dask-worker", "orted", "prted"})
"""Programs in the background by which another pod starts the training here."""
_INTERACTIVE: Final = re.compile(
    r"jupyter(?:-?(?:lab|notebook|server))?|start-(?:notebook|singleuser)(?:\.sh|\.py)?|code-server|openvscode-server"
)
_DEADLINE: Final = "activeDeadlineSeconds"


class IdleGpus(Parameters):
    """How long a container may wait."""

    at_most_seconds: int = 600
    """The longest wait of a command on GPUs, in seconds."""


def _check_idle(place: ContainerCommand, context: Context[IdleGpus]) -> Iterator[Finding]:
    container = place.container
    if (
        container is None
        or container.is_init
        or not place.is_main
        or not amounts.gpus_of(container.value)
    ):
        return
    most = context.parameters.at_most_seconds
    found = _waiting(place, most)
    if found is None:
        what = (
            "is a terminal that waits for input"
            if _is_terminal(place)
            else _notebook(place, context.subject)
        )
        program = place.line.every[0] if place.line.every else None
        if what and program:
            yield place.finding(program, f"{what}, and the GPUs are kept until then", _END)
        return
    program, what = found
    yield place.finding(program, f"{what}, and the GPUs are kept while it waits", _END)


_END: Final = "let the command end with the training, or leave the GPUs out"


def _waiting(place: ContainerCommand, most: int) -> tuple[Program, str] | None:
    """The program that waits, and how."""
    if any(each.sleeps for each in place.codes):
        python = (each for each in place.line.every if each.kind == LauncherKind.PYTHON)
        return next(((each, "has Python sleep") for each in python), None)
    every = place.line.every
    serves = any(each.file in _SERVES for each in every)
    waits = any(each.name == "wait" for each in every)
    works = any(each.is_main and each.file not in _PREPARES for each in every)
    for each in every:
        what = _wait(each, every, most)
        if what and not serves and (not each.around.is_background or (waits and not works)):
            return each, what
    return None


def _wait(program: Program, every: Sequence[Program], most: int) -> str:
    """How a program waits; empty where it does not for long."""
    if program.file == "sleep" and _seconds(program.starts) > most:
        return f"sleeps {' '.join(program.starts)}"
    if program.around.is_endless and all(
        each.file in _IDLE for each in every if each.around.is_endless
    ):
        return "does nothing in a loop without an end"
    if program.file == "tail" and not program.around.reads:
        options, files = separated(
            program.starts, frozenset({"-n", "-c", "--lines", "--bytes", "-s"})
        )
        follows = options.keys() & {"-f", "-F", "--follow", "--retry"} and "--pid" not in options
        if follows and (files == ("/dev/null",) or program is every[-1]):
            return f"follows {files[0] if files else 'its input'} without an end"
    return "waits for a signal" if program.file == "pause" and len(every) == 1 else ""


def _seconds(words: Sequence[str]) -> float:
    """How long `sleep` sleeps; 0 where that is not known."""
    total = 0.0
    for each in words:
        if each.lower() in ("infinity", "inf"):
            return float("inf")
        found = _DURATION.fullmatch(each)
        total += float(found[1]) * _UNITS[found[2]] if found else 0
    return total


def _is_terminal(place: ContainerCommand) -> bool:
    """Whether it is a shell or `cat` that reads what a person types."""
    container = place.container
    if container is None or len(place.line.every) != 1:
        return False
    (only,) = place.line.every
    reads = container.value["stdin"].raw is True or container.value["tty"].raw is True
    is_shell = only.kind == LauncherKind.SHELL and not only.operands
    return reads and (is_shell or (only.file == "cat" and only.starts in ((), ("-",))))


def _notebook(place: ContainerCommand, subject: Subject) -> str:
    """That it is a notebook which nothing ends; empty for another program."""
    serves = any(map(_is_notebook, place.line.programs))
    return "" if not serves or _has_deadline(place, subject) else "is a notebook without a deadline"


def _is_notebook(program: Program) -> bool:
    words = program.starts
    if program.kind == LauncherKind.PYTHON:
        return "m" in program.options and words[:1] in _MODULES
    serves = program.file != "jupyter" or words[:1] in _APPLICATIONS
    return bool(_INTERACTIVE.fullmatch(program.file)) and serves


_MODULES: Final = (("jupyterlab",), ("notebook",))
_APPLICATIONS: Final = (("lab",), ("notebook",), ("server",), ("nbclassic",))


def _has_deadline(place: ContainerCommand, subject: Subject) -> bool:
    if subject.kind == names.TRAIN_JOB and subject.object.at("spec", _DEADLINE).raw is not ABSENT:
        return True
    pod = place.container.pod if place.container else None
    holders = () if pod is None else (pod.spec, pod.job_spec, pod.job["spec"])
    return any(each[_DEADLINE].raw is not ABSENT for each in holders)


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
