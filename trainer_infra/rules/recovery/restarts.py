"""Policies for failures beside a checkpoint: a pod that is taken away uses up no restart, and ends no run."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.api.fault_tolerance import SIGTERM
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.recovery import saving
from trainer_infra.rules.recovery.saving import Saving
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_MOST: Final = 256
"""Characters of a pattern that is tried."""
_FREELY: Final = ("Ignore", failure_policy.RESTART_FREELY, failure_policy.GATED_ACTIONS[1])
_MARK: Final = failure_policy.DISRUPTION_TARGET
_FIX: Final = (
    "leave failurePolicy, podFailurePolicy and backoffLimit to the checkpoint, or count neither the condition "
    f"{_MARK} nor exit code {SIGTERM}: in a program FaultTolerance(uncounted_exit_codes=({SIGTERM},))"
)


def _check(place: Saving, _context: Context[Parameters]) -> Iterator[Finding]:
    job, spec = place.job, place.job.container.pod.job_spec
    limits = [spec[each] for each in ("podFailurePolicy", "backoffLimit", "backoffLimitPerIndex")]
    given = [each for each in (job.jobset["failurePolicy"], *limits) if each.is_there()]
    restarts = job.container.pod.spec["restartPolicy"]
    for who, marked in (("preempted or evicted", True), ("deleted", False)):
        deciding = _deciding(job, marked=marked) or (given[-1] if given else None)
        if given and restarts.text() not in ("", "Never"):
            deciding = restarts
        if deciding and deciding.is_there() and deciding.raw not in _FREELY:
            what = f"counts a pod that is {who}, which then uses up a restart or ends the run"
            yield place.finding(deciding, what, None, _FIX)
            return


def _deciding(job: OutputJob, *, marked: bool) -> Value | None:
    """The action that is taken about a pod which ended with 143, or what counts its Job; None for no rule."""
    pod = f"{job.namespace}/{job.container.pod.name()}-0"
    said = f"Container {names.NODE} for pod {pod} failed with exit code {SIGTERM}"
    message = f"Pod {pod} has condition {_MARK}" if marked else said
    rules = job.container.pod.job_spec.at("podFailurePolicy", "rules")
    for index, rule in enumerate(lookup.items(rules)):
        if not _fits_pod(rule, job, marked=marked):
            continue
        policy, action = job.jobset["failurePolicy"], rule["action"]
        if action.text() != failure_policy.FAIL_JOB or not policy.is_there():
            return action
        message = f"{message} matching {failure_policy.FAIL_JOB} rule at index {index}"
        own = (each for each in lookup.items(policy["rules"]) if _fits_job(each, job, message))
        most = policy["maxRestarts"]
        return next((each["action"] for each in own), most if most.is_there() else policy)
    return None


def _fits_pod(rule: Value, job: OutputJob, *, marked: bool) -> bool:
    if any(
        marked and each["type"].text() == _MARK for each in lookup.items(rule["onPodConditions"])
    ):
        return True
    codes, name = rule["onExitCodes"], job.container.value["name"].text()
    is_listed = SIGTERM in {each.number() for each in lookup.items(codes["values"])}
    is_in = codes["operator"].text() == failure_policy.IN
    return codes.is_there() and codes["containerName"].text() in ("", name) and is_listed == is_in


def _fits_job(rule: Value, job: OutputJob, message: str) -> bool:
    reasons, patterns, targets = (
        [each.text() for each in lookup.items(rule[key])]
        for key in ("onJobFailureReasons", "onJobFailureMessagePatterns", "targetReplicatedJobs")
    )
    is_meant = not targets or job.container.pod.name() in targets
    fits = not patterns or any(_found(each, message) for each in patterns)
    return is_meant and fits and (not reasons or names.POD_FAILURE_POLICY in reasons)


def _found(pattern: str, message: str) -> bool:
    try:
        return len(pattern) <= _MOST and re.search(pattern, message) is not None
    except (re.error, RecursionError):
        return False


PREEMPTION_COUNTED: Final = Rule(
    id="preemption-counted",
    title="A job with a checkpoint must not count pods that are taken away",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("recovery", "checkpoints", "restarts"),
    why="After a few preemptions or drained machines the run has failed for good, whatever it had saved.",
    fix="Leave the policies to the checkpoint, or ignore DisruptionTarget and exit code 143 in them.",
    places=saving.savings,
    check=_check,
)
"""A preempted or evicted pod has the condition DisruptionTarget (KEP-3329), a deleted one has not; both end with 143
where the program saves and ends as it should. The first rule of a Job that fits a failed pod decides, then the first of
the JobSet that fits the failed Job (KEP-262).
"""
