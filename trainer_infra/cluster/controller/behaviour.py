"""What a TrainJob of engine `controller` renders to: what the controller of the cluster makes of it.

Decides exactly as that one does: ours, or the reference's. Of the objects we store the TrainJob, the code and
the job's own Secret (`written_objects`); the controller makes the others, and a preview shows them too.
"""

from collections.abc import Iterable
from dataclasses import replace

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster import run_labels
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render import resolve
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.runs.run import Owner, is_fixed


def controller_behaviour(
    plugins: tuple[Plugin, ...], owner: Owner, controller: str = names.UPSTREAM
) -> Behaviour:
    """The behaviour of this engine for the runs of an owner.

    Args:
        plugins: of every target.
        owner: who declares the run.
        controller: `builtin` or `upstream`.

    Raises:
        InvalidInput: A plugin is listed that the controller does not have.
    """
    foreign = [each.name for each in plugins if each not in PLUGINS]
    if foreign:
        what = "are not known by the cluster's controller, which renders the TrainJob"
        fix = "remove them, or run `pulumi config set trainer:engine provider`"
        raise InvalidInput([Problem("trainer:plugins", what, foreign, fix)])
    decides = OURS if controller == names.BUILTIN else REFERENCE
    return replace(decides, plugins=(_stored(owner), *plugins))


def is_written(value: JSONObject, job: str) -> bool:
    """Whether we store the object, and the controller does not make it."""
    kind, name = value["kind"], value["metadata"]["name"]
    if kind == "ConfigMap":
        return is_fixed(value) and name.startswith(f"{job}{names.CODE_SUFFIX}-")
    return (kind, name) in {(names.TRAIN_JOB, job), ("Secret", f"{job}{names.SECRET_SUFFIX}")}


def written_objects(objects: Iterable[JSONObject], job: str) -> tuple[JSONObject, ...]:
    """Those of a run's objects that we store, the TrainJob last."""
    found = [each for each in objects if is_written(each, job)]
    return tuple(sorted(found, key=lambda each: each["kind"] == names.TRAIN_JOB))


def _stored(owner: Owner) -> Plugin:
    """The plugin that has the TrainJob among the objects, and marks what we store."""

    def complete(value: JSONObject, job: TrainJob) -> JSONObject:
        name = job.metadata.name
        if not is_written(value, name):
            return value
        marks = run_labels.labels_of(owner, name)
        if value["kind"] == names.TRAIN_JOB:
            marks = {**marks, names.RECORD_LABEL: "true"}
        return run_labels.with_labels(value, marks)

    return Plugin(
        "StoredTrainJob",
        applies=lambda _: True,
        attach=_with_report_file,
        build=_train_job,
        complete=complete,
    )


def _train_job(draft: Draft) -> Iterable[JSONObject]:
    return (draft.job.to_wire(),)


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
