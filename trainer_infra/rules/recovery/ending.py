"""The time that pods have to end in: it is as long as torchrun's, and that as long as a step and a save, and stays."""

import math
import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.api.checkpoint import ELASTIC_TIMEOUT, GRACE, MARGIN
from trainer_infra.render.command_lines.program_options import LauncherKind
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands, queue_objects
from trainer_infra.rules.recovery import saving
from trainer_infra.rules.recovery.saving import Saving
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UnseenValue

_USUAL: Final = 30
"""Seconds that Kubernetes gives a pod, and torchrun its workers."""
_ELASTIC: Final = (LauncherKind.TORCHRUN, LauncherKind.TUNE, LauncherKind.ACCELERATE)
_OLD: Final = re.compile(r"(?:.*/)?pytorch/pytorch:(1\.\d+|2\.\d|2\.1[01])(?!\d).*")
"""Images of PyTorch before 2.12, whose torchrun reads no time."""


def _check(place: Saving, context: Context[Parameters]) -> Iterator[Finding]:
    said = place.said or {}
    save, timeout = said.get("save_seconds", checkpoint.SAVE_SECONDS), _timeout(place)
    save = save if said and isinstance(save, int) else 0
    if timeout:
        yield from _of_torchrun(place, *timeout, save)
    if not timeout or context.subject.kind in names.RUNTIMES:
        # What a runtime does not say, its TrainJobs may.
        timeout = timeout if timeout and timeout[1] else (0, place.value)
    yield from _of_pod(place, *timeout, save, context.subject)
    every, pod = said.get("every_seconds"), place.job.container.pod
    whole = [context.subject.object["spec"]] if context.subject.kind == names.TRAIN_JOB else []
    deadlines = (each["activeDeadlineSeconds"] for each in (*whole, pod.job_spec, pod.spec))
    deadline = next((each for each in deadlines if each.number() is not None), None)
    if deadline and isinstance(every, int | float) and (deadline.number() or 0) < every:
        what = f"ends the run before the first checkpoint, which is saved after {every:g} s"
        yield place.finding(deadline, what, deadline.raw, "raise it, or save more often")


def _of_pod(
    place: Saving, timeout: int | None, where: Value | None, save: int, subject: Subject
) -> Iterator[Finding]:
    grace = place.job.container.pod.spec[GRACE]
    hook = place.job.container.value.at("lifecycle", "preStop")
    before = _slept(hook, subject)
    given = _USUAL if grace.number() is None else grace.number() or 0
    left, needed = max(0, given - before), max(save, (timeout or 0) if where else 0)
    if needed > left:
        said = where if where and not place.said else place.value
        at = hook if before and given >= needed else grace if grace.is_there() else said
        what = f"leaves the pod {left} s to end in, and {needed} s are needed"
        longer = f"set {GRACE} to {needed + before + MARGIN} or more"
        yield place.finding(at, what, None, longer if before < math.inf else "shorten the hook")
    elif where is None and not save and grace.is_there() and left > _USUAL + MARGIN:
        what = f"does nothing for the training: torchrun kills its workers after {_USUAL} s"
        yield place.finding(
            grace, what, grace.raw, f"set the variable {ELASTIC_TIMEOUT} of the container, too"
        )


def _of_torchrun(
    place: Saving, timeout: int | None, where: Value | None, save: int
) -> Iterator[Finding]:
    image = place.job.container.value["image"]
    old = _OLD.fullmatch(image.text())
    if where and timeout is None:
        what = "is not a number of whole seconds, and torchrun does not start"
        yield place.finding(where, what, where.raw, f'write "{_USUAL}", for example')
    elif timeout is not None and timeout < save:
        what = (
            f"gives torchrun's workers {timeout} s to end in, and a step and a save take {save} s"
        )
        yield place.finding(
            where or place.value, what, None, f"set {ELASTIC_TIMEOUT} to {save} or more"
        )
    elif old and save > _USUAL:
        what = f"has PyTorch {old[1]}, whose torchrun kills its workers after {_USUAL} s"
        yield place.finding(image, what, image.raw, "use PyTorch 2.12 or newer")


def _timeout(place: Saving) -> tuple[int | None, Value | None] | None:
    """Seconds that torchrun gives its workers, None where it cannot read them; where that is said; None without one.

    Raises:
        UnseenValue: It is known only when it runs.
    """
    programs = place.command.line.programs if place.command else ()
    launcher = next((each for each in programs if each.kind in _ELASTIC), None)
    if launcher is None or place.command is None:
        return None
    text, words = launcher.option("shutdown_timeout"), place.command.words
    where: Value | None = saving.variable(place.job.container.value, ELASTIC_TIMEOUT)
    if text is not None:
        named = [at for at, each in enumerate(words) if "shutdown" in str(each.raw)]
        at = named[-1] if named else launcher.item
        where = words[min(at + ("=" not in str(words[at].raw)), len(words) - 1)]
    elif launcher.unread:
        raise UnseenValue(words[0].written.path)
    text = text if text is not None or where is None else where.text()
    if not text or where is None:
        return _USUAL, None
    if UNREAD in text or "$" in text:
        raise UnseenValue(where.written.path)
    return int(text) if re.fullmatch(r"\s*\d{1,9}\s*", text) else None, where


def _slept(hook: Value, subject: Subject) -> float:
    """Seconds for which a hook sleeps, which are part of the pod's time to end in."""
    path = hook.at("exec", "command").path
    every = (each for each in commands.commands_of(subject) if each.words[0].path[:-1] == path)
    programs = (one for each in every for one in each.line.every)
    found = sum(seconds for one in programs for _, seconds in commands.slept(one))
    found += hook.at("sleep", "seconds").number() or 0
    return found if found == math.inf else math.ceil(found)


TIME_TO_SAVE: Final = Rule(
    id="time-to-save",
    title="Pods must have the time to save a checkpoint before they are killed",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("recovery", "checkpoints"),
    why=(
        "The kubelet or torchrun kills the program in the middle of its save, and the run loses all work since "
        "the checkpoint before."
    ),
    fix=f"Make `{GRACE}` as long as `{ELASTIC_TIMEOUT}`, and that as long as the longest step and save.",
    places=saving.trainings,
    check=_check,
)
"""torchrun sends SIGKILL to its workers 30 s after it was told to end, whatever the pod's time; from PyTorch 2.12 on
its option `--shutdown-timeout`, or the variable, says another time. A preStop hook runs within the pod's time
(Kubernetes, "Termination of Pods").
"""


def _check_patch(patched: Value, context: Context[Parameters]) -> Iterator[Finding]:
    subject, queue = context.subject, queue_objects.queue_name(context.subject)
    if queue is None and queue_objects.local_queue(subject, context.world) is None:
        return
    for job in patched.at("trainingRuntimeSpec", "template", "spec", "replicatedJobs").items():
        grace = job.at("template", "spec", "template", "spec", GRACE)
        if grace.is_there():
            what = "is lost when Kueue starts the TrainJob, and JobSet then refuses the JobSet"
            yield grace.finding(what, grace.raw, f"set {GRACE} in the runtime")


TIME_OF_QUEUED_PODS: Final = Rule(
    id="time-of-queued-pods",
    title="A TrainJob in a queue of Kueue must not patch its pods' time to end in",
    severity=Severity.HIGH,
    kinds=frozenset({names.TRAIN_JOB}),
    tags=("recovery", "checkpoints", "kueue"),
    why="The TrainJob is admitted, keeps its quota, and never starts.",
    fix=f"Set `{GRACE}` in the runtime, and remove it from `spec.runtimePatches`.",
    places=lambda subject: subject.object.at("spec", "runtimePatches").items(),
    check=_check_patch,
    looks_around=True,
)
"""Kueue 0.17 to 0.19 knows the API of Trainer 2.2, which has no such field: it writes the TrainJob back without it
(kubernetes-sigs/kueue#14504; seen with Kueue 0.19 and both controllers of Trainer 2.3). A field of the pods of a JobSet
that is there may not change.
"""
