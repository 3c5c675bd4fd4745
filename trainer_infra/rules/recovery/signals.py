"""What a program does when it is told to end: with 0 a Job takes it for done, half trained or not."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.render.command_lines import (
    program,
    program_options,
    python_code,
    references,
    shell_script,
)
from trainer_infra.render.command_lines.command_line import ShellCommand, file_name
from trainer_infra.rules import pods
from trainer_infra.rules.placement import commands
from trainer_infra.rules.recovery import saving
from trainer_infra.rules.recovery.saving import Saving
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_TERM: Final = frozenset({"TERM", "SIGTERM", "15"})
_TRAINS: Final = re.compile(
    r"^\s*(?:import|from)\s[^\n#]*\b(?:torch|jax|transformers|trl|(?:pytorch_)?lightning|xgboost|tensorflow|keras)\b",
    re.MULTILINE,
)
"""Code that trains: a server ends with 0 as it should."""
_JIT: Final = re.compile(r"--enable_jit_checkpoint(?:[=\s]+(?:True|true|1))?(?![=\w])")
_ENDS_WELL: Final = (
    "ends the program with 0 when it is told to end, and a Job then counts its pod as done"
)
_FIX: Final = (
    "end with 143, sys.exit(143), or save by trainer_infra.checkpoint.Checkpointer, which does"
)
_SHELL_FIX: Final = "end with 143, or leave the trap out and start the program by exec"
_SINGLE: Final = pods.COMPUTING - names.WITH_PODS - {"Pod"}


@dataclass(frozen=True, slots=True)
class Code:
    """A text that may be a program."""

    value: Value
    """Where it stands."""
    of: Saving | None = None
    """The training that it is of; None for that of a ConfigMap or another kind of job."""
    is_ours: bool = False
    """Whether our launcher starts it."""


def _places(subject: Subject) -> Iterator[Code]:
    if subject.kind in names.WITH_PODS:
        for each in saving.trainings(subject):
            yield from (Code(word, each, each.is_ours) for word in _words(each.job.container.value))
            files = subject.code["code"]["files"].fields() if subject.code is not None else ()
            yield from (Code(text, each, is_ours=True) for _, text in files if each.said)
    elif subject.kind == commands.CONFIG_MAP:
        found = dict(subject.object["data"].fields())
        yield from (Code(text, is_ours="launch.json" in found) for text in found.values())
    else:
        for pod in pods.pods_of(subject):
            found = [*pod.spec["containers"].items()]
            yield from (Code(word) for each in found[:1] if not found[1:] for word in _words(each))


def _words(container: Value) -> Iterator[Value]:
    for key in ("command", "args"):
        yield from container[key].items()


def _check(place: Code, _context: Context[Parameters]) -> Iterator[Finding]:
    text = "" if place.value.is_noted() else place.value.text()
    saves = place.of is not None and bool(place.of.said)
    code = python_code.read_python(text) if "\n" in text or "(" in text else None
    if code is not None and code.takes_sigterm and saves:
        what = "takes SIGTERM, as Checkpointer does, and only the one that is set last hears of it"
        yield place.value.finding(what, None, "remove the handler")
    elif code is not None and code.ends_well and not place.is_ours and _trains(place, text):
        yield place.value.finding(_ENDS_WELL, None, _FIX)
    elif _JIT.search(text) and not place.is_ours:
        yield place.value.finding(
            _ENDS_WELL, None, "start it with save_steps alone, and end with 143"
        )
    if "trap" in text and _has_trap(text) and _trains(place, text):
        yield place.value.finding(_ENDS_WELL, None, _SHELL_FIX)
    elif saves and _keeps_signals(place, text):
        what = (
            "is more than the program, so that the shell stays, and never tells the program to end"
        )
        yield place.value.finding(
            what, None, "start the program last, by exec, or with wait and a trap"
        )


def _trains(place: Code, text: str) -> bool:
    if place.of is not None:
        return True
    return bool(_TRAINS.search(text) or program.read_shell_text(text).launchers())


def _script(text: str) -> tuple[ShellCommand, ...]:
    return shell_script.read_script(text, references.NONE_KNOWN).commands


def _has_trap(text: str) -> bool:
    """Whether a trap for SIGTERM ends a script with 0; `exit` alone ends it as what came before it."""
    for each in _script(text):
        if each.words[:1] == ("trap",) and not _TERM.isdisjoint(each.words[2:]):
            action = _script(each.words[1])
            last = action[-1].words if action else ()
            if last[:1] == ("exit",) and (last[1:] == ("0",) or (last == ("exit",) and action[1:])):
                return True
    return False


def _keeps_signals(place: Code, text: str) -> bool:
    """Whether a shell is the first process of a container, and waits for the program with something left to do."""
    words = place.of.command.words if place.of and place.of.command else ()
    is_script = any(each.path == place.value.path for each in words[1:])
    if not is_script or file_name(str(words[0].raw)) not in program_options.SHELLS:
        return False
    script = shell_script.read_script(text, references.NONE_KNOWN)
    starts = [at for at, each in enumerate(script.commands) if _launches(each)]
    if script.unread or not starts or any(each.words[:1] == ("trap",) for each in script.commands):
        return False
    own, last = script.commands[starts[-1]], len(script.commands) - 1
    piped = any(starts[-1] in each.reads for each in script.commands)
    return not own.is_background and own.words[0] != "exec" and (piped or starts[-1] < last)


def _launches(command: ShellCommand) -> bool:
    return bool(command.words and program.read_command_line(command.words).launchers())


TOLD_TO_END: Final = Rule(
    id="told-to-end",
    title="A program that is told to end must not end with 0",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | _SINGLE | {commands.CONFIG_MAP},
    tags=("recovery", "checkpoints", "commands"),
    why=(
        "A pod that is preempted, drained or deleted and ends with 0 counts as succeeded: the run is Complete, half "
        "trained."
    ),
    fix="Save, and end with 143, as a program without a handler does.",
    places=_places,
    check=_check,
)
"""In the Job controller a pod that has Succeeded counts for its index, also while it is deleted (Kubernetes 1.34).
transformers' `enable_jit_checkpoint` saves on SIGTERM and lets the program end as usual. What our launcher starts ends
with 143 whatever the program says (`in_pod.init`). A shell that is the first process of a container ignores SIGTERM
where it has no trap, and its foreground program is told nothing.
"""
