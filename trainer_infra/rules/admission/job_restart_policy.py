"""job-restart-policy: pods of a Job are not restarted for ever, and other pods are restarted as theirs are.

Source: Kubernetes' validation of Jobs (`validateJobSpec`), of pods (`validateRestartPolicy`), and of
workloads that always run (`ValidatePodTemplateSpecForReplicaSet` and its like). JobSet writes OnFailure
where nothing is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.admission import field, job_specs
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.words import listed

_NEVER: Final = "Never"
_OF_JOBS: Final = ("OnFailure", _NEVER)
_OF_PODS: Final = (*_OF_JOBS, "Always")
_ALWAYS: Final = frozenset(
    ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController")
)


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """The restart policy of the pods of one template."""

    value: Value
    """What is written."""
    allowed: tuple[str, ...]
    """What may be written."""
    is_optional: bool = True
    """Whether nothing may be written."""
    failure_policy: Value | None = None
    """The podFailurePolicy of their Job."""


def _places(subject: Subject) -> Iterator[RestartPolicy]:
    for job in job_specs.job_specs(subject):
        policy = job.spec["podFailurePolicy"]
        yield RestartPolicy(job.pod_spec["restartPolicy"], _OF_JOBS, job.of_jobset, policy)
    if subject.kind in _ALWAYS or subject.kind == "Pod":
        for pod in pods.pods_of(subject):
            allowed = _OF_PODS[-1:] if subject.kind in _ALWAYS else _OF_PODS
            yield RestartPolicy(pod.spec["restartPolicy"], allowed)


def _check(place: RestartPolicy, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(_of_policy(place), context)


def _of_policy(place: RestartPolicy) -> Iterator[Finding]:
    value, words = place.value, listed(place.allowed, "or")
    if field.is_empty(value):
        if not place.is_optional:
            yield value.finding(f"is required: {words}", None, f"write {words}")
            return
    elif value.text() and value.text() not in place.allowed:
        yield value.finding(f"must be {words}", value.text(), f"write {words}")
        return
    policy = place.failure_policy
    if policy is not None and policy.is_there() and value.text() != _NEVER:
        what = f"must be {_NEVER} beside podFailurePolicy"
        yield value.finding(what, value.text() or None, f"write {_NEVER}, or remove the policy")


RULE: Final = Rule(
    id="job-restart-policy",
    title="Pods of a Job have the restartPolicy Never or OnFailure",
    severity=Severity.HIGH,
    kinds=job_specs.KINDS | _ALWAYS | {"Pod"},
    tags=("admission", "jobs"),
    why="The API server refuses the Job, or JobSet cannot make it; nothing ever runs.",
    fix="Write OnFailure or Never, and Never beside a podFailurePolicy.",
    places=_places,
    check=_check,
)
