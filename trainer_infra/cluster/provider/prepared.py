"""The objects of a run as this engine writes them, decided without asking the cluster. Pure.

Called at preview and again by `submit`, which is why a second time changes nothing. Adds labels,
the deadline of the TrainJob to its Jobs, Kueue's labels to the JobSet, and where training reports
its progress. Rules: DESIGN.md, engine `provider`.
"""

from collections.abc import Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.cluster.provider import labels
from trainer_infra.render import resolve
from trainer_infra.runs.run import Owner

JSON = Mapping[str, Any]

QUEUE_LABELS: Final = (names.KUEUE_QUEUE_LABEL, names.KUEUE_PRIORITY_LABEL)
"""Labels of a TrainJob by which Kueue queues it; without a stored TrainJob it reads the JobSet's."""


def prepared(job: JSON, objects: tuple[JSON, ...], owner: Owner) -> tuple[JSON, ...]:
    """The objects as they are written, in the same order.

    Args:
        job: the TrainJob in wire form.
        objects: everything rendered of it, also the runtime snapshot.
        owner: who declares it.
    """
    added = labels.of_run(owner, str(job["metadata"]["name"]))
    mark = {**added, names.RECORD_LABEL: "true"}
    return tuple(
        _labelled(_of_engine(each, job), mark if is_record(each, job) else added)
        for each in objects
    )


def is_record(value: JSON, job: JSON) -> bool:
    """Whether an object is the run's record: its runtime snapshot."""
    wanted = f"{job['metadata']['name']}{names.SNAPSHOT_SUFFIX}"
    return (value["kind"], value["metadata"]["name"]) == ("ConfigMap", wanted)


def _labelled(value: JSON, added: Mapping[str, str]) -> JSON:
    metadata = value["metadata"]
    return {
        **value,
        "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **added}},
    }


def _of_engine(value: JSON, job: JSON) -> JSON:
    if value["kind"] != names.JOBSET:
        return value
    deadline = (job.get("spec") or {}).get("activeDeadlineSeconds")
    jobs = [
        _reporting(_limited(each, deadline)) for each in value["spec"].get("replicatedJobs") or ()
    ]
    return _queued({**value, "spec": {**value["spec"], "replicatedJobs": jobs}}, job)


def _queued(jobset: JSON, job: JSON) -> JSON:
    """The JobSet with Kueue's labels of the TrainJob, where it has none of its own."""
    given = job["metadata"].get("labels") or {}
    own = jobset["metadata"].get("labels") or {}
    added = {key: given[key] for key in QUEUE_LABELS if key in given and key not in own}
    return _labelled(jobset, added) if added else jobset


def _limited(replicated_job: JSON, deadline: int | None) -> JSON:
    """The replicated job with the TrainJob's deadline: nobody of ours is there when it passes."""
    if not deadline:
        return replicated_job
    template = replicated_job["template"]
    limit = min(deadline, template["spec"].get("activeDeadlineSeconds") or deadline)
    spec = {**template["spec"], "activeDeadlineSeconds": limit}
    return {**replicated_job, "template": {**template, "spec": spec}}


def _reporting(replicated_job: JSON) -> JSON:
    """The replicated job whose containers know where to leave their last report, if it trains."""
    if resolve.ancestor(replicated_job) != names.TRAINER:
        return replicated_job
    pod = resolve.pod_spec(replicated_job)
    containers = [_with_report(each) for each in pod.get("containers") or ()]
    return resolve.with_pod_spec(replicated_job, {**pod, "containers": containers})


def _with_report(container: JSON) -> JSON:
    env = container.get("env") or ()
    if any(each["name"] == names.REPORT_FILE for each in env):
        return container
    path = container.get("terminationMessagePath") or names.TERMINATION_LOG
    return {**container, "env": [*env, {"name": names.REPORT_FILE, "value": path}]}
