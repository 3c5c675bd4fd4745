"""Engine `controller`: runs in a cluster where Kubeflow Trainer's controller drives them.

A run is a TrainJob (`job_store`). `controller_behaviour` renders it to what the controller of the cluster
makes of it, and decides exactly as that one does: ours, or the reference's. Of the objects we store the
TrainJob, the code and the job's own Secret; the controller makes the others, and a preview shows them too.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace

from typing_extensions import override

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster import run_labels, served_kinds
from trainer_infra.cluster.controller import job_store
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render import gang, resolve
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS, checkpoint
from trainer_infra.runs.run import Owner


class ControlledCluster(ClusterRuns):
    """Runs in the cluster of a kubeconfig's context, where Kubeflow Trainer's controller runs."""

    store = job_store.JOBS

    @override
    def controller(self) -> str:
        return self.served().controller or names.BUILTIN

    @override
    def behaviour(
        self, plugins: tuple[Plugin, ...], owner: Owner, controller: str = ""
    ) -> Behaviour:
        """What renders the objects as the controller makes them; makes no request."""
        return controller_behaviour(plugins, owner, controller)

    @override
    def remark(self, found: served_kinds.ServedKinds) -> str:
        return served_kinds.of_engine_controller(found)

    @override
    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        return (*super().warnings(objects), *unfilled_gangs(objects))


def controller_behaviour(
    plugins: tuple[Plugin, ...], owner: Owner, controller: str = names.UPSTREAM
) -> Behaviour:
    """The behaviour of this engine for the runs of an owner; the controller is `builtin` or `upstream`.

    Raises:
        InvalidInput: A plugin is listed that the controller does not have.
    """
    foreign = [each.name for each in plugins if each not in PLUGINS]
    if foreign:
        what = "are not known by the cluster's controller, which renders the TrainJob"
        fix = "remove them, or run `pulumi config set trainer:engine provider`"
        raise InvalidInput([Problem("trainer:plugins", what, foreign, fix)])
    is_ours = controller == names.BUILTIN
    known = (each for each in plugins if is_ours or each is not checkpoint.PLUGIN)
    return replace(OURS if is_ours else REFERENCE, plugins=(_stored(owner), *known))


def unfilled_gangs(objects: Collection[JSONObject]) -> Iterator[str]:
    """A sentence for each run whose gang waits for pods that JobSet makes only later, so that it never starts.

    The controller counts every pod of a run, also of jobs that start only after others
    (docs/compatibility.md, Q15); a later release of it may not, so it is a warning.
    """
    groups = {
        _place(each): each["spec"]["minMember"]
        for each in objects
        if each["kind"] == names.POD_GROUP
    }
    for each in objects:
        if each["kind"] != names.JOBSET or _place(each) not in groups:
            continue
        late = [job for job, waits in gang.waits_of(each["spec"]).items() if waits]
        if late:
            yield (
                f"TrainJob {each['metadata']['name']}: Kubeflow Trainer's controller counts "
                f"{groups[_place(each)]} pods in its gang, also those of job {', '.join(late)}, which start "
                "only after others: the scheduler waits for them and starts nothing; run `pulumi config "
                "set trainer:engine provider`, or take a runtime without podGroupPolicy"
            )


def _place(value: JSONObject) -> tuple[str, str]:
    return str(value["metadata"].get("namespace", "")), str(value["metadata"]["name"])


def _stored(owner: Owner) -> Plugin:
    """The plugin that has the TrainJob among the objects, and marks what we store."""

    def complete(value: JSONObject, job: TrainJob) -> JSONObject:
        name = job.metadata.name
        if not job_store.is_written(value, name):
            return value
        marks = run_labels.labels_of(owner, name)
        if value["kind"] == names.TRAIN_JOB:
            marks = {**marks, names.RECORD_LABEL: "true"}
        return run_labels.with_labels(value, marks)

    return Plugin(
        "StoredTrainJob",
        applies=lambda _: True,
        attach=_with_report_file,
        build=lambda draft: (draft.job.to_wire(),),
        complete=complete,
    )


def _with_report_file(job: JSONDict, runtime: Runtime) -> JSONDict:
    """The TrainJob whose trainer knows where to leave its last report.

    In `spec.trainer`, for the webhook of the controller takes no variables of container `node` in a
    runtime patch.
    """
    template = runtime.spec.template
    spec = (template.spec if template else None) or {}
    containers = [container for _, container in resolve.trainer_containers(spec)]
    trainer = job["spec"].get("trainer") or {}
    env = trainer.get("env") or []
    if not containers or any(each["name"] == names.REPORT_FILE for each in env):
        return job
    path = containers[0].get("terminationMessagePath") or names.TERMINATION_LOG
    added = [*env, {"name": names.REPORT_FILE, "value": path}]
    return {**job, "spec": {**job["spec"], "trainer": {**trainer, "env": added}}}
