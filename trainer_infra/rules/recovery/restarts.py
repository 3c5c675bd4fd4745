"""Policies for failures beside a checkpoint: a pod that is taken away uses up no restart, and ends no run."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.api.fault_tolerance import SIGTERM
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.recovery import saving
from trainer_infra.rules.recovery.saving import Saving
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.value import ABSENT

_PATTERN: Final = 256
"""Characters of a pattern that is tried."""
_FREELY: Final = (failure_policy.RESTART_FREELY, failure_policy.GATED_ACTIONS[1])
_FIX: Final = (
    "leave failurePolicy, podFailurePolicy and backoffLimit out, so that the checkpoint brings its own, or count "
    f"neither the condition {failure_policy.DISRUPTION_TARGET} nor exit code {SIGTERM}: in a program "
    f"FaultTolerance(uncounted_exit_codes=({SIGTERM},))"
)


def _check(place: Saving, _context: Context[Parameters]) -> Iterator[Finding]:
    job = place.job
    limits = [job.container.pod.job_spec[each] for each in ("backoffLimit", "backoffLimitPerIndex")]
    policies = (
        job.jobset["failurePolicy"],
        job.container.pod.job_spec["podFailurePolicy"],
        *limits,
    )
    if not any(each.is_there() for each in policies):
        return
    for who, is_marked in (
        ("a pod that is preempted or evicted", True),
        ("a pod that is deleted", False),
    ):
        if found := _counting(job, is_marked=is_marked):
            where, what = found
            yield where.finding(
                f"{what} {who}, which then uses up a restart or ends the run", None, _FIX
            )
            return


def _counting(job: OutputJob, *, is_marked: bool) -> tuple[Value, str] | None:
    """What counts a pod that ended with 143, where something does."""
    pod, spec = job.container.pod, job.container.pod.job_spec
    restarts = pod.spec["restartPolicy"]
    if restarts.text() not in ("", "Never"):
        return restarts, "lets the Job count"
    for index, rule in enumerate(spec.at("podFailurePolicy", "rules").items()):
        if _matches(rule, job, is_marked=is_marked):
            action = rule["action"]
            if action.text() == "Ignore":
                return None
            if action.text() != failure_policy.FAIL_JOB:
                return action, "counts"
            return _of_job_set(job, action, _message(job, index, is_marked=is_marked))
    limit = spec["backoffLimit"]
    where = limit if limit.is_there() else spec["backoffLimitPerIndex"]
    if not where.is_there():
        where = spec["podFailurePolicy"]
    return where if where.is_there() else job.jobset["failurePolicy"], "counts"


def _matches(rule: Value, job: OutputJob, *, is_marked: bool) -> bool:
    for each in rule["onPodConditions"].items():
        is_true = each["status"].text() in ("", "True")
        if is_marked and is_true and each["type"].text() == failure_policy.DISRUPTION_TARGET:
            return True
    codes = rule["onExitCodes"]
    if not codes.is_there():
        return False
    name = codes["containerName"].text()
    is_listed = SIGTERM in {each.number() for each in codes["values"].items()}
    is_own = name in ("", job.container.value["name"].text())
    return is_own and is_listed == (codes["operator"].text() == failure_policy.IN)


def _message(job: OutputJob, index: int, *, is_marked: bool) -> str:
    """The message of a Job that failed by a rule (Kubernetes 1.34, `podfailurepolicy`)."""
    pod = f"{job.namespace}/{job.container.pod.name()}-0"
    rule = f"matching {failure_policy.FAIL_JOB} rule at index {index}"
    if is_marked:
        return f"Pod {pod} has condition {failure_policy.DISRUPTION_TARGET} {rule}"
    return f"Container {names.NODE} for pod {pod} failed with exit code {SIGTERM} {rule}"


def _of_job_set(job: OutputJob, failed: Value, message: str) -> tuple[Value, str] | None:
    """What the JobSet does about a Job that failed by its policy, unless it restarts freely."""
    policy = job.jobset["failurePolicy"]
    if not policy.is_there():
        return failed, "ends the run for"
    for rule in policy["rules"].items():
        reasons = [each.text() for each in rule["onJobFailureReasons"].items()]
        targets = [each.text() for each in rule["targetReplicatedJobs"].items()]
        patterns = [each.text() for each in rule["onJobFailureMessagePatterns"].items()]
        is_meant = not targets or job.container.pod.name() in targets
        fits = not patterns or any(_found(each, message) for each in patterns)
        if is_meant and fits and (not reasons or names.POD_FAILURE_POLICY in reasons):
            action = rule["action"]
            is_end = action.text() == failure_policy.FAIL
            what = "ends the run for" if is_end else "counts"
            return None if action.text() in _FREELY else (action, what)
    most = policy["maxRestarts"]
    return most if most.raw is not ABSENT else policy, "counts"


def _found(pattern: str, message: str) -> bool:
    try:
        return len(pattern) <= _PATTERN and re.search(pattern, message) is not None
    except (re.error, RecursionError):
        return False


PREEMPTION_COUNTED: Final = Rule(
    id="preemption-counted",
    title="A job with a checkpoint must not count pods that are taken away",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("recovery", "checkpoints", "restarts"),
    why=(
        "After a few preemptions, suspensions or drained machines the run has failed for good, whatever it had saved."
    ),
    fix="Leave the policies to the checkpoint, or ignore DisruptionTarget and exit code 143 in them.",
    places=saving.savings,
    check=_check,
)
"""A preempted or evicted pod has the condition DisruptionTarget (KEP-3329), a deleted one has not; both end with 143
where the program saves and ends as it should. The first rule of a Job that fits a failed pod decides, then the first of
the JobSet that fits the failed Job (KEP-262).
"""
