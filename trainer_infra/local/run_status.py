"""What is known of a run, from what the supervisor sees. Pure.

`current` is called at every step of the supervisor, `failed` by whoever finds that a run ended in a
way that no JobSet reports.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from trainer_infra import names
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle import failure_reason
from trainer_infra.local.jobset import pods
from trainer_infra.local.jobset.pods import Phase, Pod, PodId
from trainer_infra.render import endpoints, resolve
from trainer_infra.runs.run import (
    COMPLETE,
    CREATED,
    FAILED,
    FINISHED,
    JSON,
    RUNNING,
    SUSPENDED,
    Failure,
    Node,
    Run,
)


@dataclass(frozen=True, slots=True)
class Tried:
    """One try of a pod and what it said last."""

    pod: Pod
    """The try as observed."""
    last_lines: tuple[str, ...]
    """Of its log, oldest first."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the supervisor sees."""

    status: JSON
    """TrainJob.status in wire form."""
    jobset: JSON | None
    """The JobSet with its status; None before it is made and after a deadline."""
    tries: tuple[Tried, ...]
    """Every try of every pod, in start order."""
    failure: PodId | None
    """The pod that ended the JobSet."""
    reports: Mapping[str, Mapping[str, Any]]
    """The last trainerStatus of each pod that sent one."""
    waiting_for: str
    """What the supervisor itself waits for."""


def current(last: Run, seen: Seen) -> Run:
    """The run as it is now; `last` is what was known before."""
    conditions = seen.status.get("conditions") or ()
    end = next((each for kind in FINISHED if (each := _true(conditions, kind))), None)
    phase = _phase(conditions, seen.tries)
    failure, sentence = _failure(last.name, seen)
    return replace(
        last,
        phase=phase,
        status=seen.status,
        reason=end["reason"] if end else "",
        message=(sentence or end["message"]) if end else "",
        failure=failure if phase == FAILED else None,
        nodes=_nodes(seen, phase) if seen.jobset else last.nodes,
        started=of.timestamp(seen.tries[0].pod.started) if seen.tries else "",
        finished=end["lastTransitionTime"] if end else "",
        waiting_for="" if end else seen.waiting_for or _waits_for(seen, phase),
    )


def failed(run: Run, reason: str, message: str, now: datetime) -> Run:
    """The run as Failed for a reason that no JobSet reports."""
    condition = of.condition(names.FAILED, reason, message, now)
    conditions = of.with_condition(run.status.get("conditions") or (), condition)
    return replace(
        run,
        phase=FAILED,
        reason=reason,
        message=message,
        status={**run.status, "conditions": list(conditions)},
        finished=condition["lastTransitionTime"],
        waiting_for="",
        nodes=tuple(
            replace(node, phase="Failed") if node.phase in {"Pending", "Running"} else node
            for node in run.nodes
        ),
    )


def _name(jobset: str, pod: PodId) -> str:
    return endpoints.pod_name(jobset, pod.job, pod.replica, pod.index)


def _true(conditions: Sequence[JSON], kind: str) -> JSON | None:
    return of.find(conditions, kind) if of.is_true(conditions, kind) else None


def _phase(conditions: Sequence[JSON], tries: Sequence[Tried]) -> str:
    for phase in (FAILED, COMPLETE, SUSPENDED):
        if of.is_true(conditions, phase):
            return phase
    return RUNNING if tries else CREATED


def _failure(name: str, seen: Seen) -> tuple[Failure | None, str]:
    """The pod that ended the run, and the sentence that says so."""
    if seen.failure is None:
        return None, ""
    tried = next(
        each
        for each in reversed(seen.tries)
        if each.pod.id == seen.failure and each.pod.phase is Phase.FAILED
    )
    pod, shown = tried.pod, _name(name, seen.failure)
    failure = Failure(shown, pod.reason, pod.exit_code, tried.last_lines)
    container = f"container {pod.container}" if pod.container else "the pod"
    if pod.exit_code is None:
        why = tried.last_lines[-1].removeprefix("trainer-infra: ") if tried.last_lines else ""
        return failure, f"pod {shown} failed: {why or container} ({pod.reason})"
    means = failure_reason.meaning(pod.exit_code)
    ended = f"{container} exited with {pod.exit_code} ({pod.reason})"
    return failure, f"pod {shown} failed: {ended}{f': {means}' if means else ''}"


def leading(jobset: JSON | None, reports: Mapping[str, JSON]) -> JSON | None:
    """The trainerStatus that counts for the run: that of the first node that sent one.

    Args:
        jobset: None when there is none.
        reports: the last one of each pod that sent one.
    """
    names_of_pods = (name for _, name in _training(jobset)) if jobset else ()
    return next((reports[name] for name in names_of_pods if name in reports), None)


def _training(jobset: JSON) -> Iterator[tuple[PodId, str]]:
    """Each pod of the training steps in their order, with its name."""
    name, spec = jobset["metadata"]["name"], jobset["spec"]
    training = resolve.trainer_jobs(spec)
    for pod in pods.pod_ids(spec):
        if pod.job in training:
            yield pod, _name(name, pod)


def _nodes(seen: Seen, phase: str) -> tuple[Node, ...]:
    return tuple(
        _node(name, [each.pod for each in seen.tries if each.pod.id == pod], seen, phase)
        for pod, name in (_training(seen.jobset) if seen.jobset else ())
    )


def _node(name: str, tries: Sequence[Pod], seen: Seen, phase: str) -> Node:
    report = seen.reports.get(name) or {}
    return Node(
        pod=name,
        phase=_node_phase(tries, phase),
        progress=report.get("progressPercentage"),
        metrics={each["name"]: each["value"] for each in report.get("metrics") or ()},
        restarts=max(0, len(tries) - 1),
    )


def _node_phase(tries: Sequence[Pod], phase: str) -> str:
    """A pod that was stopped by us is pending until the run ends."""
    if not tries:
        return "Pending"
    if tries[-1].reason == "Stopped" and phase not in FINISHED:
        return "Pending"
    return str(tries[-1].phase.value)


def _waits_for(seen: Seen, phase: str) -> str:
    """The first replicated job that has not started because of its dependsOn."""
    if seen.jobset is None or phase == SUSPENDED:
        return ""
    begun = {each.pod.id.job for each in seen.tries if each.pod.reason != "Stopped"}
    for job in seen.jobset["spec"].get("replicatedJobs") or ():
        if job["name"] not in begun and job.get("dependsOn"):
            return f"{job['name']} waits for {', '.join(each['name'] for each in job['dependsOn'])}"
    return ""
