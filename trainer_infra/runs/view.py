"""What is known of a run, from its record, its JobSet and its pods. Pure.

Called by `look` whenever somebody asks. Conditions are decided by `lifecycle.plan`, as for every
driver; deadline and TTL are left out of it, because the Jobs keep the one and nobody here the other.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster.provider import record as of_record
from trainer_infra.cluster.provider.record import Record
from trainer_infra.errors import InvalidInput
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle import deadline, failure_reason
from trainer_infra.lifecycle import plan as lifecycle
from trainer_infra.render import listed, resolve
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.observed import Observed
from trainer_infra.runs import causes, reports, waiting_cause
from trainer_infra.runs import pods as of_pods
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.run import (
    COMPLETE,
    CREATED,
    FAILED,
    FINISHED,
    LOST,
    RUNNING,
    SUSPENDED,
    Failure,
    Node,
    Run,
    outputs_of,
)
from trainer_infra.runs.waiting_cause import Cause

JSON = Mapping[str, Any]

LAST_LINES: Final = 20
"""Lines of the log of a pod that failed that are kept."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the cluster has of a run."""

    jobset: JSON | None = None
    """The run's JobSet; None when there is none, or another one of its name."""
    pods: tuple[JSON, ...] = ()
    """Of the JobSet."""
    jobs: tuple[JSON, ...] = ()
    """Jobs of the JobSet, where it matters why one failed."""
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Last lines of the logs of pods, by pod, as far as they were read."""
    drift: Mapping[str, str] = field(default_factory=dict)
    """Fields of ours that somebody changed."""
    around: Surroundings = field(default_factory=Surroundings)
    """What else the cluster says of it."""


def current(record: Record, seen: Seen, host: str, now: datetime) -> Run:
    """The run as it is now.

    Args:
        record: the run's, without a final status.
        seen: what there is of it.
        host: the cluster.
        now: the time.
    """
    run = Run(
        namespace=record.namespace,
        name=record.name,
        uid=record.uid,
        host=host,
        owner=record.owner,
        content=record.content,
        created=record.created,
        phase=CREATED,
        drift=seen.drift,
        outputs=outputs_of(record.job),
    )
    if seen.jobset is None:
        return _without_jobset(run, record)
    pods = of_pods.in_order(seen.jobset, seen.pods)
    return _told(run, record, replace(seen, pods=pods), now)


def _without_jobset(run: Run, record: Record) -> Run:
    if record.jobset_uid:
        message = (
            "its JobSet was deleted by somebody before it ended; raise attempt to run it again"
        )
        return replace(run, phase=LOST, reason=LOST, message=message)
    sentence = "its submit, which did not end yet or was interrupted"
    return replace(run, waiting_for=sentence, cause=str(Cause.SUBMIT))


def _told(run: Run, record: Record, seen: Seen, now: datetime) -> Run:
    assert seen.jobset is not None  # noqa: S101  the caller looked
    said = _said(seen)
    places = _places(seen.jobset, seen.pods)
    status = _status(record, seen, _leading(places, said), now)
    conditions = status.get("conditions") or ()
    end = _true(conditions, COMPLETE) or _true(conditions, FAILED)
    phase = _phase(conditions, seen)
    begun = [each for pod in seen.pods if (each := of_pods.started(pod))]
    run = replace(
        run,
        phase=phase,
        status=status,
        reason=end["reason"] if end else "",
        message=end["message"] if end else "",
        failure=_failure(seen) if phase == FAILED else None,
        nodes=tuple(_node(each, said.get(_pod_name(each[-1])) or {}) for each in places),
        started=min(begun, default=""),
        finished=end["lastTransitionTime"] if end else "",
    )
    rests = phase == SUSPENDED and not kueue_workload.is_held(seen.jobset)
    return run if rests or phase in FINISHED else _waiting(run, seen, now)


def _waiting(run: Run, seen: Seen, now: datetime) -> Run:
    """The run with what it waits for."""
    assert seen.jobset is not None  # noqa: S101  the caller looked
    found = causes.waiting(seen.jobset, seen.pods, seen.around, now)
    if found is None:
        return run
    sentence, stuck = waiting_cause.shown(found, now)
    return replace(run, waiting_for=sentence, cause=str(found.cause), stuck=stuck)


def _said(seen: Seen) -> dict[str, JSON]:
    """The last report of each pod: its last words, else the last one in its log."""
    said: dict[str, JSON] = {}
    for pod in seen.pods:
        name = pod["metadata"]["name"]
        report = reports.of_pod(pod) or reports.of_lines(seen.lines.get(name, ()))
        if report is not None:
            said[name] = report
    return said


def _status(record: Record, seen: Seen, report: JSON | None, now: datetime) -> JSON:
    """TrainJob.status as `lifecycle.plan` decides it."""
    known = {"trainerStatus": report} if report else {}
    pods = tuple(reports.without_last_words(each) for each in seen.pods)
    observed = Observed(seen.jobset, record.value, pods=pods)
    behaviour = _behaviour(record.plugins)
    plan = lifecycle.plan(_job(record, known, seen), None, observed, now, behaviour)
    status = known if plan.status is None else plan.status
    return _explained(status, record, seen)


def _job(record: Record, status: JSON, seen: Seen) -> TrainJob:
    """The TrainJob without what this engine leaves to others, and without UID: it is not stored.

    Raises:
        Unreadable: What the record has is no TrainJob.
    """
    metadata, spec = record.job["metadata"], record.job["spec"]
    left = {"activeDeadlineSeconds"}
    if seen.jobset is not None and kueue_workload.is_resumed(seen.jobset):
        left.add("suspend")
    notes = metadata.get("annotations") or {}
    kept = {key: notes[key] for key in notes if key != names.TTL_SECONDS}
    whole = {
        **record.job,
        "metadata": {**metadata, "annotations": kept},
        "spec": {key: spec[key] for key in spec if key not in left},
        "status": status or None,
    }
    # A later release may have written fields that are unknown here; a status needs none of them.
    least = {
        "metadata": {"name": record.name, "namespace": record.namespace},
        "spec": {key: spec[key] for key in {"runtimeRef", "suspend"} - left if key in spec},
        "status": status or None,
    }
    with suppress(InvalidInput):
        return TrainJob.model_validate(whole)
    try:
        return TrainJob.model_validate(least)
    except InvalidInput as error:
        raise of_record.unreadable(record.value, f"data.{names.RECORD_JOB_KEY}: {error}") from None


@lru_cache(maxsize=16)
def _behaviour(plugins: tuple[str, ...]) -> Behaviour:
    """What rendered the run; ours alone where its plugins are not installed here."""
    try:
        return Behaviour(listed.registry(plugins))
    except InvalidInput:
        return OURS


def _explained(status: JSON, record: Record, seen: Seen) -> JSON:
    """The status with a Job's own reason in the Failed condition, where no pod has one.

    A Job past its deadline deletes its pods: then this is the TrainJob's deadline.
    """
    conditions = status.get("conditions") or ()
    failed = _true(conditions, FAILED)
    job = next((each for each in seen.jobs if _true(_conditions(each), FAILED)), None)
    if failed is None or job is None:
        return status
    why = _conditions(job)
    said = next(each for each in why if each["type"] == FAILED)
    seconds = record.job["spec"].get("activeDeadlineSeconds")
    late = said["reason"] == names.DEADLINE_EXCEEDED and seconds is not None
    sentence = f"Job {job['metadata']['name']}: {said['message']} ({said['reason']})"
    reason = names.DEADLINE_EXCEEDED if late else failed["reason"]
    head = deadline.message(seconds) if late else failed["message"]
    new = {**failed, "reason": reason, "message": f"{head}; {sentence}"}
    return {**status, "conditions": list(of.with_condition(conditions, new))}


def _conditions(value: JSON) -> Any:
    return (value.get("status") or {}).get("conditions") or ()


def _true(conditions: Any, kind: str) -> JSON | None:
    return of.find(conditions, kind) if of.is_true(conditions, kind) else None


def _phase(conditions: Any, seen: Seen) -> str:
    for phase in (FAILED, COMPLETE, SUSPENDED):
        if of.is_true(conditions, phase):
            return phase
    if seen.jobset is not None and kueue_workload.is_held(seen.jobset):
        # What Kueue took out again may have pods that are ending.
        return CREATED
    begun = any(of_pods.phase(each) != "Pending" for each in seen.pods)
    # Pods of an earlier try may be gone.
    theirs = (seen.jobset or {}).get("status") or {}
    counts = (
        each.get(key)
        for each in theirs.get("replicatedJobsStatus") or ()
        for key in ("ready", "succeeded", "failed")
    )
    return RUNNING if begun or theirs.get("restarts") or any(counts) else CREATED


def _failure(seen: Seen) -> Failure | None:
    """The pod that ended the run, when a pod did."""
    first = failure_reason.first(reports.without_last_words(each) for each in seen.pods)
    if first is None:
        return None
    pod = next(each for each in seen.pods if each["metadata"]["name"] == first.pod)
    ended = (
        (each.get(key) or {}).get("terminated") or {}
        for each in of_pods.containers(pod)
        for key in ("state", "lastState")
        if each["name"] == first.container
    )
    reason = next((each["reason"] for each in ended if each.get("reason")), str(first.kind))
    lines = reports.without(seen.lines.get(first.pod, ()))[-LAST_LINES:]
    return Failure(first.pod, reason, first.exit_code, tuple(lines))


def failed_container(pods: Iterable[JSON]) -> str:
    """The container that ended the run; empty when it was the pod as a whole."""
    first = failure_reason.first(pods)
    return first.container if first else ""


def _places(jobset: JSON, pods: Sequence[JSON]) -> tuple[list[JSON], ...]:
    """The tries of each place in the training steps, the oldest first."""
    training = resolve.trainer_jobs(jobset["spec"])
    tries: dict[str, list[JSON]] = {}
    for pod in pods:
        if of_pods.step(pod) in training:
            tries.setdefault(of_pods.host_name(pod), []).append(pod)
    return tuple(tries.values())


def _leading(places: Iterable[Sequence[JSON]], said: Mapping[str, JSON]) -> JSON | None:
    """The report that counts for the run: that of the first node that made one, by its last try.

    Before training begins it is the newest of the earlier steps.
    """
    pods = (_pod_name(pod) for tries in places for pod in reversed(tries))
    first = next((said[name] for name in pods if name in said), None)
    return first or reports.newest(said.values())


def _pod_name(pod: JSON) -> str:
    return str(pod["metadata"]["name"])


def _node(tries: Sequence[JSON], report: JSON) -> Node:
    pod = tries[-1]
    return Node(
        pod=pod["metadata"]["name"],
        phase=of_pods.phase(pod),
        progress=report.get("progressPercentage"),
        metrics={each["name"]: each["value"] for each in report.get("metrics") or ()},
        restarts=len(tries) - 1 + sum(map(of_pods.restarts, tries)),
        step=of_pods.step(pod),
        host=of_pods.node(pod),
        gpus=of_pods.gpus(pod),
    )
