"""A run as it is now, from what a driver observed of it, whatever its target. Pure.

The status of the TrainJob is `lifecycle.status`'s; what is added here is what people ask: which
phase, which nodes, what it waits for, which pod ended it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions, early_end, failure_reason, jobs_status
from trainer_infra.lifecycle.failure_reason import FailureKind, FailureReason
from trainer_infra.render import resolve
from trainer_infra.runs import attempts, causes, hangs, pods, reports, settings, waiting_cause
from trainer_infra.runs.attempts import Attempts
from trainer_infra.runs.causes import attempt_ends, containers, kueue_workload, steps
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.run import (
    COMPLETE,
    CREATED,
    FAILED,
    FINISHED,
    RUNNING,
    SUSPENDED,
    Failure,
    Node,
    Run,
)

_FAILED: Final = re.compile(
    r"torch/distributed/elastic/multiprocessing/api\.py:\d+\] failed \(exitcode"
)
"""The first line that torchrun adds to a log, which names the exit code and the rank."""

LAST_LINES: Final = 20
"""Lines of the log of a pod that failed that are kept."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a driver observed of a run, everything in wire form."""

    jobset: JSONObject | None = None
    """The run's JobSet with its status; None when there is none, or another run's of its name."""
    status: JSONObject = field(default_factory=dict)
    """TrainJob.status, as it was decided from the same objects."""
    pods: tuple[JSONObject, ...] = ()
    """Of the JobSet, every try."""
    planned: tuple[JSONObject, ...] = ()
    """Pods that will be made, where the driver knows their names beforehand."""
    jobs: tuple[JSONObject, ...] = ()
    """Jobs of the JobSet, where it matters why one failed, or how its pods ended."""
    pod_events: tuple[JSONObject, ...] | None = None
    """As `ObservedObjects.pod_events`."""
    events: tuple[JSONObject, ...] = ()
    """Of the run, where it matters what ended its attempts."""
    ended: tuple[JSONObject, ...] = ()
    """Pods of this machine as they ended, also before the JobSet was restarted."""
    suspended: tuple[str, ...] = ()
    """When this machine's driver suspended it; RFC 3339, UTC."""
    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Last lines of the logs of pods, by pod, as far as they were read."""
    reports: Mapping[str, JSONObject] = field(default_factory=dict)
    """The last trainerStatus of each pod that reported, by pod."""
    drift: Mapping[str, str] = field(default_factory=dict)
    """Fields of ours that another writer changed, as `Run.drift` has them."""
    surroundings: Surroundings | None = field(default_factory=Surroundings)
    """What else a cluster says of it; None on this machine, where the driver starts the pods."""
    waiting_for: str = ""
    """What the driver itself waits for, for example an installation."""


def current_run(known: Run, seen: Observation, now: datetime) -> Run:
    """The run as it is now, from the run as it was declared, or as it was at the last look."""
    seen = replace(seen, pods=pods.in_order(seen.jobset, seen.pods))
    found = seen.status.get("conditions") or ()
    end = next((one for kind in FINISHED if (one := conditions.true_condition(found, kind))), None)
    phase = _phase(found, seen)
    begun = (each for pod in seen.pods if (each := pods.started_at(pod)))
    nodes = _nodes(seen, phase) if seen.jobset is not None else known.nodes
    is_of_pod = phase == FAILED and end is not None and end["reason"] != names.ENDED_EARLY
    run = replace(
        known,
        phase=phase,
        status=seen.status,
        reason=end["reason"] if end else "",
        message=end["message"] if end else "",
        failure=_failure(seen) if is_of_pod else None,
        nodes=nodes,
        settings=settings.with_pods(
            known.settings,
            seen.jobset,
            len(nodes),
            # A run of this machine is known as it was at the last look.
            suspended=seen.surroundings is not None and known.settings.suspended,
        ),
        started=known.started or min(begun, default=""),
        finished=end["lastTransitionTime"] if end else "",
        attempts=_attempts(known, seen, phase),
        drift=seen.drift,
        waiting_for="",
        cause="",
        stuck="",
    )
    return run if phase in FINISHED else _waiting(run, seen, now)


def lost_run(run: Run, reason: str, why: str, now: datetime) -> Run:
    """The run as Failed because what ran its pods is gone, which no JobSet reports.

    The reason is the condition's, and `why` a sentence on what is gone.
    """
    going = (each.pod for each in run.nodes if each.phase in {"Pending", "Running"})
    pod = next(going, "")
    first = FailureReason(FailureKind.NODE_LOST, pod, message=why)
    message = first.sentence() if pod else why
    condition = conditions.new_condition(names.FAILED, reason, message, now)
    found = conditions.with_condition(run.status.get("conditions") or (), condition)
    return replace(
        run,
        phase=FAILED,
        reason=reason,
        message=message,
        failure=Failure(pod, str(first.kind)) if pod else None,
        status={**run.status, "conditions": list(found)},
        finished=condition["lastTransitionTime"],
        waiting_for="",
        cause="",
        stuck="",
        nodes=tuple(
            replace(node, phase="Failed") if node.phase in {"Pending", "Running"} else node
            for node in run.nodes
        ),
    )


def leading_report(
    jobset: JSONObject, observed: Iterable[JSONObject], said: Mapping[str, JSONObject]
) -> JSONObject | None:
    """The report that counts for the run: that of the first node that made one, by its last try.

    Before training begins it is the newest of the earlier steps.
    """
    tries = _tries(jobset, pods.in_order(jobset, observed)).values()
    of_nodes = (pods.name(pod) for each in tries for pod in reversed(each))
    first = next((said[name] for name in of_nodes if name in said), None)
    return first or reports.newest_report(said.values())


def failed_container(seen: Iterable[JSONObject]) -> str:
    """The container that ended the run; empty when it was the pod as a whole."""
    first = failure_reason.first_failure(seen)
    return first.container if first else ""


def _waiting(run: Run, seen: Observation, now: datetime) -> Run:
    """The run with what it waits for: its driver, else what the cluster says."""
    if seen.waiting_for:
        return replace(run, waiting_for=seen.waiting_for)
    if seen.jobset is None:
        return run
    if run.phase == SUSPENDED and not kueue_workload.is_held(seen.jobset):
        return run
    hung = tuple(hangs.hanging_ranks(seen.pods, seen.lines))
    if seen.surroundings is None and not hung:
        kept = next(containers.kept_pods(seen.pods), None)
        held = steps.held_step(seen.jobset, seen.pods)
        return replace(run, waiting_for=kept.sentence if kept else held)
    around = seen.surroundings
    other = causes.waiting(seen.jobset, seen.pods, around, now) if around else None
    found = waiting_cause.first_cause((*hung, *((other,) if other else ())))
    if found is None:
        return run
    sentence, stuck = waiting_cause.cause_shown(found, now)
    return replace(run, waiting_for=sentence, cause=str(found.cause), stuck=stuck)


def _phase(found: Sequence[JSONObject], seen: Observation) -> str:
    for phase in (FAILED, COMPLETE, SUSPENDED):
        if conditions.is_true(found, phase):
            return phase
    if seen.jobset is not None and kueue_workload.is_held(seen.jobset):
        # What Kueue took out again may have pods that are ending.
        return CREATED
    begun = any(pods.phase_of(each) != "Pending" for each in seen.pods)
    # Pods of an earlier try may be gone.
    theirs = (seen.jobset or {}).get("status") or {}
    counts = (
        each.get(key)
        for each in theirs.get("replicatedJobsStatus") or ()
        for key in ("ready", "succeeded", "failed")
    )
    return RUNNING if begun or theirs.get("restarts") or any(counts) else CREATED


def _attempts(known: Run, seen: Observation, phase: str) -> Attempts:
    """The attempts of the last report, else those that were known, with what ended them."""
    found = attempts.attempts_of(seen.status.get("trainerStatus") or {})
    if not found.total:
        found = known.attempts
    if not found.last:
        return found
    pods_seen, in_cluster = seen.ended or seen.pods, seen.surroundings is not None
    happened = [
        *attempt_ends.of_pods(pods_seen, in_cluster=in_cluster),
        *attempt_ends.of_events(seen.jobset, seen.events),
        *attempt_ends.of_suspensions(seen.suspended, phase, seen.surroundings),
    ]
    return attempt_ends.with_causes(found, known.attempts, happened, phase)


def _failure(seen: Observation) -> Failure | None:
    """The pod that ended the run, when a pod did and no deadline of its Job."""
    job = jobs_status.first_failed_job(seen.jobs)
    if job is not None and job.is_late:
        return None
    first = failure_reason.first_failure(reports.without_last_words(each) for each in seen.pods)
    if first is None:
        return None
    said = reports.without_reports(seen.lines.get(first.pod, ()))
    lines = without_torchrun_summary(said)[-LAST_LINES:]
    # The container's termination reason, else the kind of failure.
    ended = (
        (each.get(key) or {}).get("terminated") or {}
        for pod in seen.pods
        if pods.name(pod) == first.pod
        for each in pods.container_statuses(pod)
        if each["name"] == first.container
        for key in ("state", "lastState")
    )
    reasons = (each["reason"] for each in ended if each.get("reason") and each.get("exitCode"))
    return Failure(first.pod, next(reasons, str(first.kind)), first.exit_code, tuple(lines))


def _tries(
    jobset: JSONObject, observed: Iterable[JSONObject], planned: Iterable[JSONObject] = ()
) -> Mapping[pods.Place, list[JSONObject]]:
    """The tries of each place in the training steps, the oldest first; none of one not made."""
    training = resolve.trainer_jobs(jobset["spec"])
    places: dict[pods.Place, list[JSONObject]] = {
        pods.place_of(each): [] for each in planned if pods.step_of(each) in training
    }
    for pod in observed:
        if pods.step_of(pod) in training:
            places.setdefault(pods.place_of(pod), []).append(pod)
    return places


def _nodes(seen: Observation, phase: str) -> tuple[Node, ...]:
    assert seen.jobset is not None  # noqa: S101  the caller looked
    planned = {pods.place_of(each): each for each in seen.planned}
    return tuple(
        _node(tries or [planned[place]], seen.reports, phase)
        for place, tries in _tries(seen.jobset, seen.pods, seen.planned).items()
    )


def _node(tries: Sequence[JSONObject], said: Mapping[str, JSONObject], phase: str) -> Node:
    pod = tries[-1]
    keepers = pods.keepers_of(pod)
    report = said.get(pods.name(pod)) or {}
    # One that was ended from outside is made again, unless the run is over.
    is_stopped = pods.is_being_deleted(pod) and pods.is_over(pod) and not early_end.is_early(pod)
    is_made_again = is_stopped and phase not in FINISHED
    return Node(
        pod=pods.name(pod),
        phase="Pending" if is_made_again else pods.phase_of(pod),
        progress=report.get("progressPercentage"),
        metrics=attempts.metrics_of(report),
        restarts=len(tries) - 1 + sum(map(pods.restart_count, tries)),
        step=pods.step_of(pod),
        host=pods.node_of(pod),
        gpus=pods.gpu_count(pod),
        kept_by=keepers.going if keepers else (),
    )


def without_torchrun_summary(lines: Sequence[str]) -> Sequence[str]:
    """The lines up to the one in which torchrun says that a process has failed."""
    for index, line in enumerate(lines):
        if _FAILED.search(line):
            return lines[: index + 1]
    return lines
