"""Where training leaves its last report: the termination message of its container.

A render plugin of engine `provider`, in whose clusters no server takes reports; `runs.reports` reads
them back.
"""

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve
from trainer_infra.render.phases import Plugin


def complete(value: JSONObject, _job: TrainJob) -> JSONObject:
    """The JobSet whose training containers know the file; another object as it is."""
    if value["kind"] != names.JOBSET:
        return value
    jobs = [_reporting(each) for each in value["spec"].get("replicatedJobs") or ()]
    return {**value, "spec": {**value["spec"], "replicatedJobs": jobs}}


def _reporting(replicated_job: JSONObject) -> JSONObject:
    if not resolve.trains(replicated_job):
        return replicated_job
    pod = resolve.pod_spec(replicated_job)
    containers = [_with_report(each) for each in pod.get("containers") or ()]
    return resolve.with_pod_spec(replicated_job, {**pod, "containers": containers})


def _with_report(container: JSONObject) -> JSONObject:
    env = container.get("env") or ()
    if any(each["name"] == names.REPORT_FILE for each in env):
        return container
    path = container.get("terminationMessagePath") or names.TERMINATION_LOG
    return {**container, "env": [*env, {"name": names.REPORT_FILE, "value": path}]}


PLUGIN = Plugin("ReportFile", applies=lambda _: True, complete=complete)
