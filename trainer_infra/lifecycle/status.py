"""status of a TrainJob: its conditions, the counts of its Jobs, and what plugins add. Pure.

Rules: reference behaviour 4.6 to 4.8; docs/lifecycle.md.

spec.suspend: the reference leaves Suspended=False on a resumed job. The published SDK takes any condition for
"not running" and would report such a job as Created to its end, so ours removes the entry
(design "Compatibility"); the deadline reads the JobSet's own condition instead.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions, deadline, early_end, failure_reason, jobs_status
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.render import runtime_ref
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects

MESSAGE_LENGTH: Final = 32_768
"""Characters that a condition's message may have."""


@dataclass(frozen=True, slots=True)
class Delegation:
    """What of a TrainJob others see to, so that its status follows the JobSet in it."""

    deadline: bool = False
    """Its Jobs carry `spec.activeDeadlineSeconds` themselves, and fail when it has passed."""
    suspend: bool = False
    """Kueue suspends and resumes the JobSet, whatever `spec.suspend` says."""


NOTHING: Final = Delegation()


@dataclass(frozen=True, slots=True)
class TrainJobCase:
    """One TrainJob at one time, and what decides it."""

    job: TrainJob
    """As stored, with its status."""
    observed: ObservedObjects
    now: datetime
    behaviour: Behaviour = OURS
    delegation: Delegation = NOTHING

    def ours(self, deviation: Deviation) -> bool:
        """Whether that deviation holds."""
        return self.behaviour.ours(deviation)


def decide_status(case: TrainJobCase) -> JSONObject:
    """The whole status in wire form: ours, then what each plugin makes of it; trainerStatus stays."""
    old = stored_status(case.job)
    current = _conditions(case, conditions_before(case))
    result: JSONObject = {**old, "conditions": list(current)}
    if not current and "conditions" not in old:
        result = dict(old)
    if case.observed.jobset is not None:
        jobs = jobs_status.jobs_status(case.observed.jobset)
        without = {key: value for key, value in result.items() if key != "jobsStatus"}
        # A status must not be empty: then the counts stay until the JobSet has some.
        result = {**without, "jobsStatus": jobs} if jobs else without or result
    for plugin in case.behaviour.plugins:
        if plugin.status is not None:
            result = plugin.status(case.job, result, case.observed)
    return result


def stored_status(job: TrainJob) -> JSONObject:
    """The status that a TrainJob has."""
    return job.status.to_wire() if job.status else {}


def stored_conditions(job: TrainJob) -> Conditions:
    """The conditions that a TrainJob has."""
    return tuple(stored_status(job).get("conditions") or ())


def status_patch(job: TrainJob, new: JSONObject) -> JSONObject:
    """What of a status differs, for the version of the TrainJob that it was decided for.

    The rest is left out: what the training reports is the status server's.
    """
    old = stored_status(job)
    changed = {key: value for key, value in new.items() if old.get(key) != value}
    gone = {key: None for key in old if key not in new}
    metadata = job.metadata
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "resourceVersion": metadata.resource_version,
        },
        "status": {**changed, **gone},
    }


def conditions_before(case: TrainJobCase) -> Conditions:
    """The conditions from which a status is decided: the stored ones.

    The reference starts without Failed, which stays only after a deadline.
    """
    current = stored_conditions(case.job)
    if case.ours(Deviation.FAILED) or is_overdue(current):
        return current
    return conditions.without_condition(current, names.FAILED)


def is_overdue(current: Conditions) -> bool:
    """Whether the TrainJob failed because its deadline has passed."""
    failed = conditions.find_condition(current, names.FAILED)
    return failed is not None and failed["reason"] == names.DEADLINE_EXCEEDED


def seconds_left(case: TrainJobCase, current: Conditions) -> float | None:
    """Seconds until the deadline, negative once it has passed; None when there is none to keep."""
    if case.delegation.deadline:
        return None
    jobset, by_own = case.observed.jobset, not case.ours(Deviation.RESUME)
    return deadline.seconds_remaining(case.job, current, jobset, case.now, by_own_condition=by_own)


def _conditions(case: TrainJobCase, current: Conditions) -> Conditions:
    """Reference behaviour 4.6 to 4.8: unsupported runtime, suspend, the JobSet's end, the deadline."""
    unsupported = runtime_ref.unsupported_kind(case.job)
    if unsupported and not conditions.is_finished(current):
        failed = conditions.new_condition(
            names.FAILED, names.RUNTIME_NOT_SUPPORTED, unsupported, case.now
        )
        current = conditions.with_condition(current, failed)
    if not case.delegation.suspend:
        keeps_entry = not case.ours(Deviation.RESUME)
        current = with_suspended(case.job, current, case.now, keeps_entry=keeps_entry)
    ended = jobs_status.with_end_of_jobset(current, case.observed.jobset)
    if ended is not current:
        return _with_reason(case, _judged_end(case, ended))
    left = seconds_left(case, current)
    return current if left is None or left >= 0 else _overdue(case, current)


def _judged_end(case: TrainJobCase, ended: Conditions) -> Conditions:
    """The conditions with Failed for Complete where a pod ended early, and with what is not known of one."""
    complete = conditions.true_condition(ended, names.COMPLETE)
    if complete is None or not case.ours(Deviation.EARLY_END):
        return ended
    ends = early_end.pod_ends(case.observed)
    if ends.early:
        why = {"type": names.FAILED, "reason": names.ENDED_EARLY, "message": ends.failure()}
        others = conditions.without_condition(ended, names.COMPLETE)
        return conditions.with_condition(others, {**complete, **why})
    looked = case.observed.pod_events is not None
    return _explained(ended, complete, ends.doubt()) if ends.unknown and looked else ended


def _with_reason(case: TrainJobCase, ended: Conditions) -> Conditions:
    """The conditions with the reason of a pod in the Failed message, else of a Job.

    A Job past its deadline goes before its pods: what they ended with is how it ended them.
    """
    failed = conditions.find_condition(ended, names.FAILED)
    if failed is None or not case.ours(Deviation.FAILURE_REASON):
        return ended
    if failed["reason"] == names.ENDED_EARLY:
        # No pod failed.
        return ended
    pod = failure_reason.first_failure(case.observed.pods)
    job = jobs_status.first_failed_job(case.observed.jobs)
    if pod is not None and (job is None or not job.is_late):
        return _explained(ended, failed, pod.sentence())
    if job is None:
        return ended
    seconds = case.job.spec.active_deadline_seconds
    if case.delegation.deadline and job.is_late and seconds is not None:
        late = {"reason": names.DEADLINE_EXCEEDED, "message": deadline.deadline_message(seconds)}
        failed = {**failed, **late}
    return _explained(ended, failed, job.sentence())


def _overdue(case: TrainJobCase, current: Conditions) -> Conditions:
    message = names.DEADLINE_MESSAGE
    ours = case.ours(Deviation.FAILURE_REASON)
    if ours:
        message = deadline.deadline_message(case.job.spec.active_deadline_seconds or 0)
    failed = conditions.new_condition(names.FAILED, names.DEADLINE_EXCEEDED, message, case.now)
    current = conditions.with_condition(current, failed)
    waiting = failure_reason.waiting_reasons(case.observed.pods)
    return _explained(current, failed, waiting[0].sentence()) if waiting and ours else current


def _explained(current: Conditions, failed: JSONObject, sentence: str) -> Conditions:
    message = f"{failed['message']}; {sentence}"[:MESSAGE_LENGTH]
    return conditions.with_condition(current, {**failed, "message": message})


def with_suspended(
    job: TrainJob, current: Conditions, now: datetime, *, keeps_entry: bool = False
) -> Conditions:
    """The conditions with the Suspended one as spec.suspend has it.

    With `keeps_entry` a resume leaves it as False, as in the reference.
    """
    if job.spec.suspend:
        new = conditions.new_condition(
            names.SUSPENDED, names.SUSPENDED, names.SUSPENDED_MESSAGE, now
        )
        return conditions.with_condition(current, new)
    if not conditions.is_true(current, names.SUSPENDED):
        return current
    if keeps_entry:
        new = conditions.new_condition(
            names.SUSPENDED, names.RESUMED, names.RESUMED_MESSAGE, now, status=False
        )
        return conditions.with_condition(current, new)
    return conditions.without_condition(current, names.SUSPENDED)
