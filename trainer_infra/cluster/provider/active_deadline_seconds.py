"""spec.activeDeadlineSeconds of a TrainJob, on its Jobs: nothing of ours runs when it has passed.

A render plugin of engine `provider`; `lifecycle.status` reads the end of the Jobs as the TrainJob's
(`Delegation.deadline`). A runtime's own, shorter deadline of a Job stays, and what its JobSet does then.
After the TrainJob's a JobSet does not restart, whatever its failure policy says of other failures.
"""

from typing import Final

from trainer_infra import names
from trainer_infra.api.failure_policy import FAIL, FailurePolicyRule
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render.phases import Plugin

_SECONDS: Final = "activeDeadlineSeconds"
_RULE: Final = "trainJobDeadline"


def complete(value: JSONObject, job: TrainJob) -> JSONObject:
    """The JobSet with the deadline on each of its Jobs; another object as it is."""
    deadline = job.spec.active_deadline_seconds
    if value["kind"] != names.JOBSET or not deadline:
        return value
    jobs = [_limited(each, deadline) for each in value["spec"].get("replicatedJobs") or ()]
    spec = {**value["spec"], "replicatedJobs": jobs}
    late = tuple(each["name"] for each in jobs if each["template"]["spec"][_SECONDS] == deadline)
    if late and (policy := spec.get("failurePolicy")):
        reasons = (names.DEADLINE_EXCEEDED,)
        rule = FailurePolicyRule(
            name=_RULE, action=FAIL, on_job_failure_reasons=reasons, target_replicated_jobs=late
        )
        rules = [rule.to_wire(), *(policy.get("rules") or ())]
        spec["failurePolicy"] = {**policy, "rules": rules}
    return {**value, "spec": spec}


def _limited(replicated_job: JSONObject, deadline: int) -> JSONObject:
    template = replicated_job["template"]
    limit = min(deadline, template["spec"].get(_SECONDS) or deadline)
    spec = {**template["spec"], _SECONDS: limit}
    return {**replicated_job, "template": {**template, "spec": spec}}


PLUGIN = Plugin("ActiveDeadlineSeconds", applies=lambda _: True, complete=complete)
