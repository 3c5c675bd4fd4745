"""What admission decides about a TrainJob or a runtime before it is stored.

`with_defaults` completes a TrainJob, `judge_train_job` and `judge_runtime` give every problem and
warning at once. What only a cluster knows is the caller's to read; `needed_objects` says what that
is. Rules and messages: reference behaviour 1.6 and 5; docs/lifecycle.md.

The reference skips the check of a runtime with the label
`trainer.kubeflow.org/webhook-validation: disabled`: that is a selector of its webhooks, which the
API server reads, so it has no effect here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from trainer_infra import names
from trainer_infra.api import transitions
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import RuntimePatch, TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions, due_objects, immutable_fields
from trainer_infra.render import pipeline, runtime_ref
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects


@dataclass(frozen=True, slots=True)
class Before:
    """What an update starts from."""

    job: TrainJob
    """The TrainJob as stored."""
    observed: ObservedObjects = ObservedObjects(jobset=None)  # noqa: RUF009  frozen
    """What belongs to it: at least its JobSet and its runtime snapshot."""


@dataclass(frozen=True, slots=True)
class NeededObjects:
    """What must be read before a TrainJob is judged."""

    runtime: bool = False
    """The runtime that it names, unless a snapshot is needed and there is a sound one."""
    snapshot: bool = False
    """Its runtime snapshot."""
    jobset: bool = False
    """Its JobSet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of an object; it is admitted when there are no problems."""

    warnings: tuple[str, ...] = ()
    """Sentences for the user, who is not stopped."""
    problems: tuple[Problem, ...] = ()
    """Everything for which the object is refused."""


def with_defaults(job: TrainJob, old: TrainJob | None, now: datetime) -> TrainJob:
    """The TrainJob with what its author left to the server, beyond the schema's defaults: a time in every patch.

    A patch that did not change since `old`, which is stored, keeps its time, and a changed one gets `now`, whatever
    the user wrote; a new one keeps the time that it has. Rule: reference behaviour 5.3.
    """
    if job.spec.runtime_patches is None:
        return job
    known = {each.manager: each for each in (old.spec.runtime_patches if old else None) or ()}
    patches = tuple(
        _stamped(each, known.get(each.manager), now) for each in job.spec.runtime_patches
    )
    spec = job.spec.model_copy(update={"runtime_patches": patches})
    return job.model_copy(update={"spec": spec})


def judge_train_job(
    job: TrainJob,
    runtime: Runtime | None,
    before: Before | None = None,
    behaviour: Behaviour = OURS,
) -> Verdict:
    """Whether a TrainJob may be stored.

    The runtime is the live one that it names, where there is one; `before` is what is stored, None for a create.
    `behaviour` renders the TrainJob, and says how far it is judged like in the reference.
    """
    found: list[Problem] = []
    if before is not None:
        found += _of_change(before.job, job, behaviour)
        if behaviour.ours(Deviation.Q9):
            if _judged_already(job, before.job):
                return _verdict(job, found)
            runtime = _born_with(before, runtime)
    unsupported = runtime_ref.unsupported_kind(job)
    if unsupported:
        fix = f"use {' or '.join(runtime_ref.KINDS)} of {names.GROUP}"
        path = "spec.runtimeRef" if behaviour.ours(Deviation.ADVICE) else ""
        return _verdict(job, [*found, Problem(path, unsupported, fix=fix)])
    if runtime is None:
        return _verdict(job, [*found, runtime_ref.missing_runtime(job)])
    found += pipeline.rendering_problems(job, runtime, behaviour)
    if before is not None:
        found += immutable_fields.of_patches(before.job, job, before.observed)
        if not found and behaviour.ours(Deviation.Q8):
            found += immutable_fields.refused_by_jobset(
                before.job, job, before.observed, runtime, behaviour
            )
    return _verdict(job, found, pipeline.rendering_warnings(job, runtime, behaviour))


def needed_objects(
    job: TrainJob, old: TrainJob | None = None, behaviour: Behaviour = OURS
) -> NeededObjects:
    """What `judge_train_job` will look at; `old` is what is stored, None for a create.

    Most updates of a TrainJob, by controllers and by labels, need nothing of a cluster.
    """
    judged = old is not None and behaviour.ours(Deviation.Q9) and _judged_already(job, old)
    if judged or runtime_ref.unsupported_kind(job):
        return NeededObjects()
    if old is None:
        return NeededObjects(runtime=True)
    changed = immutable_fields.patches_differ(old, job)
    return NeededObjects(
        runtime=True,
        snapshot=behaviour.ours(Deviation.Q9),
        jobset=changed and bool(old.spec.suspend or job.spec.suspend),
    )


def judge_runtime(
    runtime: Runtime, old: Runtime | None = None, behaviour: Behaviour = OURS
) -> Verdict:
    """Whether a runtime may be stored; `old` is what is stored, None for a create.

    The reference does not look at updates of a TrainingRuntime (Q10).
    """
    where = f"{runtime.kind} {runtime.metadata.name}"
    found: list[Problem] = []
    if old is not None:
        changes = transitions.transition_findings(old.to_wire(), runtime.to_wire(), runtime.kind)
        found += (each.problem(where) for each in changes)
    unseen = old is not None and runtime.kind == names.TRAINING_RUNTIME
    if behaviour.ours(Deviation.Q10) or not unseen:
        found += runtime_ref.of_runtime(runtime, behaviour.deviations)
    deprecated = old is None and runtime_ref.is_deprecated(runtime)
    return Verdict((runtime_ref.deprecation_sentence(runtime),) if deprecated else (), tuple(found))


def _of_change(old: TrainJob, new: TrainJob, behaviour: Behaviour) -> Iterable[Problem]:
    yield from immutable_fields.of_spec(old, new)
    if behaviour.ours(Deviation.Q12):
        yield from immutable_fields.of_presence(old, new)


def _judged_already(new: TrainJob, old: TrainJob) -> bool:
    """Whether what is judged against the runtime is as it was, or on its way out.

    The runtime may be gone by then: labels, finalizers and the like can always change (Q9).
    """
    same = new.spec == old.spec and _judged_annotations(new) == _judged_annotations(old)
    return new.metadata.deletion_timestamp is not None or (
        same and new.metadata.labels == old.metadata.labels
    )


def _judged_annotations(job: TrainJob) -> JSONObject:
    """Without what the controller writes: it must be able to say that a runtime is missing."""
    given = job.metadata.annotations or {}
    written = {names.WAITING, names.EARLY_ENDS}
    return {key: value for key, value in given.items() if key not in written}


def _born_with(before: Before, runtime: Runtime | None) -> Runtime | None:
    """The runtime of the snapshot, else the live one: the TrainJob will never see another (Q9)."""
    try:
        return due_objects.runtime_born_with(before.job, runtime, before.observed)
    except InvalidInput:
        return runtime


def _verdict(
    job: TrainJob, problems: Iterable[Problem], sentences: tuple[str, ...] = ()
) -> Verdict:
    where = f"{names.TRAIN_JOB} {job.metadata.name}"
    return Verdict(sentences, tuple(replace(each, where=each.where or where) for each in problems))


def _stamped(patch: RuntimePatch, old: RuntimePatch | None, now: datetime) -> RuntimePatch:
    time: str | None = conditions.timestamp(now)
    if old is None:
        time = patch.time or time
    elif immutable_fields.comparable_fields(old) == immutable_fields.comparable_fields(patch):
        time = old.time
    return patch.model_copy(update={"time": time})
