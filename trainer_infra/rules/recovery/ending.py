"""The time that pods have to end in: it is as long as torchrun's, and that as long as a step and a save."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.command_lines.program_options import LauncherKind
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.recovery import saving
from trainer_infra.rules.recovery.saving import Saving
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT, UnseenValue

TIMEOUT: Final = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
"""The variable by which torchrun waits for its workers; its option comes first."""
GRACE: Final = "terminationGracePeriodSeconds"
USUAL: Final = 30
"""Seconds that Kubernetes gives a pod, and torchrun its workers."""
MARGIN: Final = 15
"""Seconds beyond torchrun's that do no harm: it ends after its workers."""
_ELASTIC: Final = (LauncherKind.TORCHRUN, LauncherKind.TUNE, LauncherKind.ACCELERATE)
"""Launchers that are torchrun."""
_OLD_IMAGE: Final = re.compile(r"(?:.*/)?pytorch/pytorch:(1\.\d+|2\.(?:\d|1[01]))\b(?!\d).*")
"""PyTorch before 2.12, whose torchrun reads no time."""
_SLEEP: Final = re.compile(r"\bsleep[ \t]+(\d{1,9})(?:\.\d+)?([smh]?)\b")
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600}


def _check(place: Saving, context: Context[Parameters]) -> Iterator[Finding]:
    timeout, where = _timeout(place)
    save = place.save_seconds
    if timeout is None:
        what = "is not a number of whole seconds, and torchrun does not start"
        yield where.finding(what, where.raw, "write for example 75")
        return
    if place.said and _is_elastic(place) and timeout < save:
        at = where if where.raw is not ABSENT else place.value
        what = (
            f"gives torchrun's workers {timeout} s to end in, and a step and a save take {save} s"
        )
        yield at.finding(what, None, f"set {TIMEOUT} to {save} or more")
    image = place.job.container.value["image"]
    old = _OLD_IMAGE.fullmatch(image.text()) if place.said and _is_elastic(place) else None
    if old and save > USUAL:
        what = f"has PyTorch {old[1]}, whose torchrun kills its workers after {USUAL} s, and a save takes {save} s"
        yield image.finding(what, image.raw, "use PyTorch 2.12 or newer")
    yield from _grace(place, max(timeout if where.raw is not ABSENT else 0, save))
    yield from _deadline(place, context.subject)


def _grace(place: Saving, needed: int) -> Iterator[Finding]:
    """The pods' own time, without what runs before they are told."""
    grace, (before, hook) = place.job.container.pod.spec[GRACE], _before(place)
    given = USUAL if grace.number() is None else grace.number() or 0
    if not needed or given - before >= needed:
        return
    if before and given >= needed:
        what = f"takes {before} s of the {given} s that the pod has to end in, and {needed} s are needed after it"
        yield hook.finding(what, None, f"set {GRACE} to {needed + before + MARGIN} or more")
        return
    what = f"gives the pod {given} s to end in, and {needed} s are needed"
    at = grace if grace.is_there() else _time_said(place)
    yield at.finding(what, grace.raw, f"set {GRACE} to {needed + before + MARGIN} or more")


def _time_said(place: Saving) -> Value:
    """Where the time stands for which the pods' usual time is too short."""
    return place.value if place.said else _timeout(place)[1]


def _deadline(place: Saving, subject: Subject) -> Iterator[Finding]:
    every, pod = (place.said or {}).get("every_seconds"), place.job.container.pod
    if not isinstance(every, int | float):
        return
    whole = subject.object["spec"] if subject.kind == names.TRAIN_JOB else pod.job_spec
    for holder in (whole, pod.job_spec, pod.spec):
        deadline = holder["activeDeadlineSeconds"]
        seconds = deadline.number()
        if seconds is not None:
            if seconds < every:
                what = f"ends the run before the first checkpoint, which is saved after {every:g} s"
                yield deadline.finding(what, seconds, "raise it, or save more often")
            return


def _is_elastic(place: Saving) -> bool:
    line = place.command and place.command.line
    return line is not None and any(each.kind in _ELASTIC for each in line.programs)


def _timeout(place: Saving) -> tuple[int | None, Value]:
    """Seconds that torchrun gives its workers, None for what it does not read; and where that is said.

    Raises:
        UnseenValue: That is known only when it runs.
    """
    command, variable = place.command, place.variable(TIMEOUT)
    for each in command.line.programs if command else ():
        given = each.option("shutdown_timeout")
        if command and each.kind in _ELASTIC and (given is not None or each.unread):
            named = [at for at, word in enumerate(command.words) if "shutdown" in str(word.raw)]
            at = named[-1] if named else each.item
            is_apart = "=" not in str(command.words[at].raw)
            return _seconds(
                given or UNREAD, command.words[min(at + is_apart, len(command.words) - 1)]
            )
    if not variable.text() or not _is_elastic(place):
        return USUAL, Value(ABSENT, variable.root)
    return _seconds(variable.text(), variable)


def _seconds(text: str, where: Value) -> tuple[int | None, Value]:
    if UNREAD in text or "$" in text:
        raise UnseenValue(where.written.path)
    is_number = text.strip().isdecimal() and len(text) < len(str(2**31))
    return int(text) if is_number else None, where


def _before(place: Saving) -> tuple[int, Value]:
    """Seconds for which the container's preStop hook sleeps, before it is told to end."""
    hook = place.job.container.value.at("lifecycle", "preStop")
    words = " ".join(hook.at("exec", "command").texts())
    found = sum(int(number) * _UNITS[unit] for number, unit in _SLEEP.findall(words))
    return found + (hook.at("sleep", "seconds").number() or 0), hook


TIME_TO_SAVE: Final = Rule(
    id="time-to-save",
    title="Pods must have the time to save a checkpoint when they are told to end",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("recovery", "checkpoints"),
    why=(
        "The kubelet or torchrun kills the program in the middle of its save, and the run loses all work since "
        "the checkpoint before."
    ),
    fix=f"Make `{GRACE}` as long as `{TIMEOUT}`, and that as long as the longest step and save.",
    places=saving.trainings,
    check=_check,
)
"""torchrun sends SIGKILL to its workers 30 s after it was told to end, whatever the pod's time; from PyTorch 2.12 on
its option `--shutdown-timeout`, or the variable, says another time. A preStop hook runs within the pod's time
(Kubernetes, "Termination of Pods").
"""


def _check_torchrun(place: Saving, _context: Context[Parameters]) -> Iterator[Finding]:
    grace, (before, _) = place.job.container.pod.spec[GRACE], _before(place)
    left = (grace.number() or 0) - before
    is_usual = _timeout(place)[1].raw is ABSENT
    if not place.said and left > USUAL + MARGIN and _is_elastic(place) and is_usual:
        what = f"does nothing for the training: torchrun kills its workers after {USUAL} s"
        yield grace.finding(what, grace.raw, f"set the variable {TIMEOUT} of the container, too")


TORCHRUN_TIME: Final = Rule(
    id="torchrun-time",
    title="A long time to end must be torchrun's as well",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("recovery", "checkpoints"),
    why="torchrun kills its workers after 30 s, in the middle of a save that the pod has the time for.",
    fix=f"Set the variable `{TIMEOUT}` of the container, or torchrun's `--shutdown-timeout`.",
    places=saving.trainings,
    check=_check_torchrun,
)
