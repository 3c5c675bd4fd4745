"""spec.activeDeadlineSeconds of a TrainJob, on its Jobs: nothing of ours runs when it has passed.

A render plugin of engine `provider`; `lifecycle.status` reads the end of the Jobs as the TrainJob's
(`Delegation.deadline`). A runtime's own, shorter deadline of a Job stays.
"""

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render.phases import Plugin


def complete(value: JSONObject, job: TrainJob) -> JSONObject:
    """The JobSet with the deadline on each of its Jobs; another object as it is."""
    deadline = job.spec.active_deadline_seconds
    if value["kind"] != names.JOBSET or not deadline:
        return value
    jobs = [_limited(each, deadline) for each in value["spec"].get("replicatedJobs") or ()]
    return {**value, "spec": {**value["spec"], "replicatedJobs": jobs}}


def _limited(replicated_job: JSONObject, deadline: int) -> JSONObject:
    template = replicated_job["template"]
    limit = min(deadline, template["spec"].get("activeDeadlineSeconds") or deadline)
    spec = {**template["spec"], "activeDeadlineSeconds": limit}
    return {**replicated_job, "template": {**template, "spec": spec}}


PLUGIN = Plugin("ActiveDeadlineSeconds", applies=lambda _: True, complete=complete)
