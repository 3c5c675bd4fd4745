"""What a program does when it is told to end: with 0 a Job takes it for done, half trained or not."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.command_lines import program, python_code, references, shell_script
from trainer_infra.render.command_lines.command_line import ShellCommand
from trainer_infra.rules import pods
from trainer_infra.rules.placement import commands
from trainer_infra.rules.recovery import saving
from trainer_infra.rules.recovery.saving import Saving
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_OURS: Final = f"{names.CODE_MOUNT}/init.py"
_TERM: Final = frozenset({"TERM", "SIGTERM", "15"})
_TRAINS: Final = re.compile(
    r"^\s*(?:import|from)\s[^\n#]*\b(?:torch|jax|transformers|trl|(?:pytorch_)?lightning|xgboost|tensorflow|keras)\b",
    re.MULTILINE,
)
"""Code that trains: a server ends with 0 as it should."""
_JIT: Final = re.compile(r"--enable_jit_checkpoint(?:[=\s]+(?:True|true|1))?(?![=\w])")
Place = tuple[Value, Saving | None, bool]
"""A text that may be a program; the training that it is of; and whether our launcher starts it, which ends with 143."""


def _places(subject: Subject) -> Iterator[Place]:
    if subject.kind == commands.CONFIG_MAP:
        found = dict(subject.object["data"].fields())
        yield from ((each, None, "launch.json" in found) for each in found.values())
    elif subject.kind not in names.WITH_PODS:
        for pod in pods.pods_of(subject):
            single = [*pod.spec["containers"].items()]
            yield from (
                (word, None, False) for each in single if not single[1:] for word in _words(each)
            )
    for each in saving.trainings(subject) if subject.kind in names.WITH_PODS else ():
        words = [*_words(each.job.container.value)]
        is_ours = any(word.raw == _OURS for word in words)
        yield from ((word, each, is_ours) for word in words)
        files = () if subject.code is None else subject.code["code"]["files"].fields()
        yield from ((file, each, True) for _, file in files)


def _words(container: Value) -> Iterator[Value]:
    for key in ("command", "args"):
        yield from container[key].items()


def _check(place: Place, _context: Context[Parameters]) -> Iterator[Finding]:
    value, training, is_ours = place
    text = "" if value.is_noted() else value.text()
    code = python_code.read_python(text)
    if training and training.said and code.takes_sigterm:
        what = "takes SIGTERM, as Checkpointer does, and only the one that is set last hears of it"
        yield value.finding(what, None, "remove the handler")
        return
    trains = training or _TRAINS.search(text) or program.read_shell_text(text).launchers()
    if not is_ours and trains and (code.ends_well or _JIT.search(text) or _has_trap(text)):
        what = "ends with 0 when it is told to end, and a Job then counts its pod as done"
        yield value.finding(
            what, None, "end with 143, as trainer_infra.checkpoint.Checkpointer does"
        )


def _script(text: str) -> tuple[ShellCommand, ...]:
    return shell_script.read_script(text, references.NONE_KNOWN).commands


def _has_trap(text: str) -> bool:
    """Whether a trap for SIGTERM ends a script with 0; `exit` alone ends it as what came before it in the trap."""
    for each in _script(text) if "trap" in text else ():
        if each.words[:1] == ("trap",) and not _TERM.isdisjoint(each.words[2:]):
            action = _script(each.words[1])
            last = action[-1].words if action else ()
            if last == ("exit", "0") or (last == ("exit",) and action[1:]):
                return True
    return False


TOLD_TO_END: Final = Rule(
    id="told-to-end",
    title="A program that is told to end must not end with 0",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING - {"Pod"} | {commands.CONFIG_MAP},
    tags=("recovery", "checkpoints", "commands"),
    why="A pod that is drained or deleted and ends with 0 counts as succeeded: the run is Complete, half trained.",
    fix="Save, and end with 143, as a program without a handler does.",
    places=_places,
    check=_check,
)
"""In the Job controller a pod that has Succeeded counts for its index, also while it is deleted (Kubernetes 1.34).
transformers' `enable_jit_checkpoint` saves on SIGTERM and lets the program end as usual. What our launcher starts ends
with 143 whatever the program says (`in_pod.init`).
"""
