"""`runPolicy`, which all v1 kinds have: to the fields of a TrainJob and of its runtime.

Which gang scheduler v1 used is a setting of its operator, so the fields that only one of the two
reads decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import path_text
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate.migration import MISPLACED, Note, SchedulingPolicy, V1Job

MULTI_KUEUE: Final = "kueue.x-k8s.io/multikueue"
OPERATORS: Final = ("", "kubeflow.org/training-operator", "kubeflow.org/mpi-operator")
VOLCANO: Final = "volcano"
OF_FIRST_OPERATORS: Final = (
    "is read as of runPolicy: the first operators had it here, the last one did not read it here"
)
PATH: Final = ("spec", "runPolicy")
SCHEDULING: Final = (*PATH, "schedulingPolicy")


@dataclass(frozen=True, slots=True)
class Gang:
    """How all pods are placed at once."""

    policy: JSONObject
    """podGroupPolicy of the runtime."""
    annotations: JSONObject
    """Annotations of the JobSet."""
    pods: JSONObject
    """Fields of every PodSpec, unless it has them."""


def of_train_job(job: V1Job) -> dict[str, Any]:
    """The fields of the TrainJob's spec that the run policy becomes.

    Raises:
        InvalidInput: The job is managed by something that v2 does not know.
    """
    policy = job.run_policy
    kept = {"suspend", "active_deadline_seconds"}
    fields = policy.model_dump(by_alias=True, exclude_none=True, include=kept)
    manager = policy.managed_by or ""
    if manager == MULTI_KUEUE:
        fields["managedBy"] = manager
    elif manager not in OPERATORS:
        path, fix = path_text((*PATH, "managedBy")), f"remove it, or use {MULTI_KUEUE}"
        raise InvalidInput([Problem(path, "is not a manager that v2 knows", manager, fix)])
    return fields


def policy_annotations(job: V1Job) -> dict[str, str]:
    """Annotations of the TrainJob for what v2 has no field for."""
    ttl = job.run_policy.ttl_seconds_after_finished
    return {} if ttl is None else {names.TTL_SECONDS: str(ttl)}


def gang_policy(job: V1Job, schedulers: set[str]) -> Gang | None:
    """Gang scheduling, by schedulerName of pods that have one; None when there is no schedulingPolicy."""
    policy = job.run_policy.scheduling_policy
    if policy is None or policy == SchedulingPolicy():
        return None
    if not _volcano(policy, schedulers):
        timeout = policy.schedule_timeout_seconds
        settings = {} if timeout is None else {"scheduleTimeoutSeconds": timeout}
        return Gang({"coscheduling": settings}, {}, {})
    queue, priority = policy.queue, policy.priority_class
    return Gang(
        {VOLCANO: {}},
        {names.VOLCANO_QUEUE_ANNOTATION: queue} if queue else {},
        {"schedulerName": VOLCANO, **({"priorityClassName": priority} if priority else {})},
    )


def policy_notes(job: V1Job, pods: int, schedulers: set[str]) -> Iterator[Note]:
    """What of the run policy of a job with so many pods has no counterpart."""
    own = job.spec.get("runPolicy") or {}
    for name in MISPLACED:
        if name in job.spec:
            advice = "is lost: runPolicy has another" if name in own else OF_FIRST_OPERATORS
            yield Note(("spec", name), job.spec[name], advice)
    yield from _clean_pod_policy((*PATH, "cleanPodPolicy"), job.run_policy.clean_pod_policy)
    yield from _clean_pod_policy(("spec", "cleanPodPolicy"), job.spec.get("cleanPodPolicy"))
    policy = job.run_policy.scheduling_policy
    if policy is None or policy == SchedulingPolicy():
        return
    if policy.min_available not in (None, pods):
        advice = f"all {pods} pods are placed at once"
        yield Note((*SCHEDULING, "minAvailable"), policy.min_available, advice)
    if policy.min_resources:
        advice = "is lost: v2 adds up what the pods request"
        yield Note((*SCHEDULING, "minResources"), policy.min_resources, advice)
    if _volcano(policy, schedulers):
        yield from _lost(policy, "Volcano", "scheduleTimeoutSeconds")
        return
    yield from _lost(policy, "coscheduling", "queue", "priorityClass")
    if not schedulers:
        advice = (
            "becomes podGroupPolicy.coscheduling: set schedulerName in the runtime's pods to the "
            "scheduler that has this plugin, which v1's operator did"
        )
        yield Note(SCHEDULING, policy.to_wire(), advice)


def _lost(policy: SchedulingPolicy, scheduler: str, *fields: str) -> Iterator[Note]:
    """Notes on the fields that a scheduler does not read."""
    wire = policy.to_wire()
    for name in fields:
        if name in wire:
            advice = f"is lost: {scheduler} does not read it, in v1 neither"
            yield Note((*SCHEDULING, name), wire[name], advice)


def _volcano(policy: SchedulingPolicy, schedulers: set[str]) -> bool:
    """Only Volcano reads a queue and a priority class."""
    wanted = policy.queue or policy.priority_class
    return VOLCANO in schedulers or bool(wanted and not schedulers)


def _clean_pod_policy(path: tuple[str, ...], value: str | None) -> Iterator[Note]:
    advice = {
        "None": "pods that still run when the job has ended are ended, as with Running",
        "All": "ended pods are kept until the TrainJob goes: delete it, or give it "
        "ttlSecondsAfterFinished",
    }.get(value or "")
    if advice:
        yield Note(path, value, advice)
