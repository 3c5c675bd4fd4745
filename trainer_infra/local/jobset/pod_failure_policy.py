"""`podFailurePolicy` of a Job: what the exit code of a failed pod means for its Job.

Rule: KEP-3329: the first rule that matches decides; `onPodConditions` describe disruptions, which
pods that are processes on one machine do not have.
"""

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset import job as jobs
from trainer_infra.local.jobset.job import JobFailure, ObservedJob
from trainer_infra.local.jobset.pods import ObservedPod
from trainer_infra.local.jobset.replicated_job import ReplicatedJob

IGNORE = "Ignore"
FAIL_JOB = "FailJob"
FAIL_INDEX = "FailIndex"


def action_for(job: ReplicatedJob, pod: ObservedPod) -> str:
    """What the first matching rule asks for; `Count` when none matches."""
    index = _match(job, pod)
    return "Count" if index is None else str(_rules(job)[index]["action"])


def counted_failures(job: ObservedJob) -> tuple[ObservedPod, ...]:
    """The failed tries that count towards a backoff limit, in the order in which they ended."""
    return tuple(pod for pod in job.failed if action_for(job.replicated, pod) != IGNORE)


def policy_failure(job: ObservedJob) -> JobFailure | None:
    """The failure of a Job of which a pod matches a `FailJob` rule; None otherwise."""
    for pod in job.failed:
        if action_for(job.replicated, pod) == FAIL_JOB:
            message = (
                f"Container {pod.container} for pod {job.name}-{pod.id.index} failed with exit code"
                f" {pod.exit_code} matching {FAIL_JOB} rule at index {_match(job.replicated, pod)}"
            )
            return JobFailure(names.POD_FAILURE_POLICY, message, jobs.ended_at(pod))
    return None


def _rules(job: ReplicatedJob) -> tuple[JSONObject, ...]:
    return tuple((job.spec.get("podFailurePolicy") or {}).get("rules") or ())


def _match(job: ReplicatedJob, pod: ObservedPod) -> int | None:
    for index, rule in enumerate(_rules(job)):
        if (wanted := rule.get("onExitCodes")) and _exit_code_matches(wanted, pod):
            return index
    return None


def _exit_code_matches(wanted: JSONObject, pod: ObservedPod) -> bool:
    """An exit code of 0 never matches, nor does a container that could not be started."""
    if not pod.exit_code or wanted.get("containerName") not in {None, pod.container}:
        return False
    operator: str = wanted["operator"]
    return (pod.exit_code in wanted["values"]) == (operator == "In")
