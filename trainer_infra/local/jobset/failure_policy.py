"""`failurePolicy` of a JobSet: what follows when a Job has failed.

Rules: JobSet v0.12, KEP-262: the first rule that fits a failed Job decides; without one the JobSet
restarts, `maxRestarts` times.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.errors import Bug
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset.job import JobFailure, ObservedJob

FAIL = "FailJobSet"
RESTART = "RestartJobSet"
RESTART_FREELY = "RestartJobSetAndIgnoreMaxRestarts"


@dataclass(frozen=True, slots=True)
class Fail:
    """The JobSet has failed."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Restart:
    """Every Job starts again."""

    reason: str
    message: str
    counts: bool
    """Whether it counts towards `maxRestarts`."""


@dataclass(frozen=True, slots=True)
class _FailedJob:
    job: ObservedJob
    failure: JobFailure


def apply_policy(spec: JSONObject, jobs: Sequence[ObservedJob], restarts: int) -> Fail | Restart:
    """What follows the failure of at least one of `jobs`.

    `restarts` is how often the JobSet was restarted, as far as it counts towards `maxRestarts`.
    """
    failed = sorted(
        (_FailedJob(job, job.failure) for job in jobs if job.failure is not None),
        key=lambda each: each.failure.at,
    )
    policy = spec.get("failurePolicy")
    if policy is None:
        return _fail(names.FAILED_JOBS, failed[0])
    action, reason, first = _matching(policy, failed)
    if action == FAIL:
        return _fail(names.FAIL_ACTION, first)
    if action == RESTART and restarts >= int(policy.get("maxRestarts") or 0):
        return _fail(names.MAX_RESTARTS, first)
    if action not in {RESTART, RESTART_FREELY}:
        raise Bug(f"a JobSet with the failure policy action {action!r} was run")
    message = _first_failed(f"applying {action} failure policy action", first)
    return Restart(reason, message, counts=action == RESTART)


def _matching(policy: JSONObject, failed: Sequence[_FailedJob]) -> tuple[str, str, _FailedJob]:
    """The action, the restart's reason, and the first failed Job that the deciding rule fits."""
    for index, rule in enumerate(policy.get("rules") or ()):
        for each in failed:
            if _fits(rule, each):
                name = rule.get("name") or f"failurePolicyRule{index}"
                return rule["action"], f"FailurePolicy_{name}", each
    return RESTART, names.DEFAULT_FAILURE_POLICY, failed[0]


def _fits(rule: JSONObject, failed: _FailedJob) -> bool:
    reasons = rule.get("onJobFailureReasons")
    patterns = rule.get("onJobFailureMessagePatterns")
    targets = rule.get("targetReplicatedJobs")
    return (
        (not reasons or failed.failure.reason in reasons)
        and (not patterns or any(_found(each, failed.failure.message) for each in patterns))
        and (not targets or failed.job.replicated.name in targets)
    )


def _found(pattern: str, message: str) -> bool:
    """A pattern that is not a regular expression fits nothing, as in JobSet."""
    try:
        return re.search(pattern, message) is not None
    except re.error:
        return False


def _fail(condition: tuple[str, str], first: _FailedJob) -> Fail:
    reason, message = condition
    return Fail(reason, _first_failed(message, first))


def _first_failed(message: str, first: _FailedJob) -> str:
    return f"{message} (first failed job: {first.job.name})"
