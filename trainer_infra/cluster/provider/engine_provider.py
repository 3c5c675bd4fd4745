"""Engine `provider`: runs in a cluster without a controller of ours there.

What a run is stands in `record_store`. `provider_behaviour` has the plugins that render what is stored, and
what a preview shows: those of every engine, then its own.
"""

from typing_extensions import override

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster import run_labels, served_kinds
from trainer_infra.cluster.provider import active_deadline_seconds
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import kueue
from trainer_infra.runs.run import Owner


class Cluster(ClusterRuns):
    """Runs in the cluster of a kubeconfig's context, without a controller of ours there."""

    store = RECORDS

    @override
    def controller(self) -> str:
        return ""

    @override
    def behaviour(
        self, plugins: tuple[Plugin, ...], owner: Owner, controller: str = ""
    ) -> Behaviour:
        """What renders the objects as this engine writes them; makes no request."""
        return provider_behaviour(plugins, owner)

    @override
    def remark(self, found: served_kinds.ServedKinds) -> str:
        return served_kinds.of_engine_provider(found)


def provider_behaviour(plugins: tuple[Plugin, ...], owner: Owner) -> Behaviour:
    """The behaviour of this engine for the runs of an owner."""
    own = (
        active_deadline_seconds.PLUGIN,
        Plugin("ReportFile", applies=lambda _: True, complete=_with_report_file),
        kueue.LABELS_OF_TRAIN_JOB,
        run_labels.labels_plugin(owner),
    )
    return Behaviour((*plugins, *own))


def _with_report_file(value: JSONObject, _job: TrainJob) -> JSONObject:
    """The JobSet whose training containers know where to leave their last report; another object as it is.

    That is their termination message, for no server takes reports; `runs.reports` reads it back.
    """
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
