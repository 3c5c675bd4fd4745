"""Kueue: queue and topology of a JobSet that no stored TrainJob owns.

Kueue manages either the TrainJob or the JobSet, never both: where the TrainJob is stored in a
cluster, Kueue reads the TrainJob's own label and patches it, and the JobSet carries nothing. So
this plugin writes for engine `provider` and for previews (Kueue 0.19, integrations jobset and
trainjob). See docs/gang-scheduling.md.

`PLUGIN` is for the scheduler annotation; `LABELS_OF_TRAIN_JOB`, of engines that store no TrainJob,
copies the labels by which Kueue would have queued it.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import gang, scheduler
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin, Scheduler

QUEUE_LABELS: Final = (names.KUEUE_QUEUE_LABEL, names.KUEUE_PRIORITY_LABEL)
"""Labels of a TrainJob by which Kueue queues it."""
ANNOTATIONS: Final = {
    names.REQUIRED_TOPOLOGY: names.KUEUE_REQUIRED_TOPOLOGY,
    names.PREFERRED_TOPOLOGY: "kueue.x-k8s.io/podset-preferred-topology",
}
"""Kueue's annotation of a pod template for each of our settings."""
SCHEDULER: Final = Scheduler(
    annotation="kueue", settings=(names.QUEUE, *ANNOTATIONS), makes_gang=False
)


def validate(draft: Draft) -> Iterable[Problem]:
    """No queue, two levels of a topology, and what Kueue does not see of a stored TrainJob."""
    queue, levels = draft.setting(names.QUEUE), scheduler.topology_levels(draft)
    if queue is None:
        fix = f"add {names.QUEUE} with the name of a LocalQueue"
        yield scheduler.setting_problem(draft, names.SCHEDULER, "needs a queue", fix)
    if len(levels) > 1:
        what = f"cannot be combined with {names.REQUIRED_TOPOLOGY} in Kueue"
        yield scheduler.setting_problem(draft, names.PREFERRED_TOPOLOGY, what, "remove one of them")
    if draft.job.metadata.uid is None:
        return
    label = (draft.job.metadata.labels or {}).get(names.KUEUE_QUEUE_LABEL)
    if queue is not None and label != queue:
        yield Problem(
            f"metadata.labels[{names.KUEUE_QUEUE_LABEL}]",
            "must name the queue: Kueue reads it where the TrainJob is stored in a cluster",
            got=label,
            fix=f"add the label with the value {queue}",
        )
    for each in levels:
        what = "is not seen by Kueue where the TrainJob is stored in a cluster"
        fix = f"put {ANNOTATIONS[each]} on the pods, in the runtime or in spec.runtimePatches"
        yield scheduler.setting_problem(draft, each, what, fix)


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """The queue of the JobSet, and the topology of the pods that must all find a place.

    Where the TrainJob is stored in a cluster Kueue renders it itself, and nothing is added.
    """
    if draft.job.metadata.uid is not None:
        return draft
    draft = gang.with_mark(
        draft, gang.counted_members(draft), annotations=scheduler.settings_as(ANNOTATIONS, draft)
    )
    labels = {**draft.labels, names.KUEUE_QUEUE_LABEL: draft.setting(names.QUEUE)}
    return replace(draft, labels=labels)


def complete(value: JSONObject, job: TrainJob) -> JSONObject:
    """The JobSet with Kueue's labels of the TrainJob, where it has none of its own."""
    if value["kind"] != names.JOBSET:
        return value
    given, metadata = job.metadata.labels or {}, value["metadata"]
    own = metadata.get("labels") or {}
    added = {key: given[key] for key in QUEUE_LABELS if key in given and key not in own}
    return {**value, "metadata": {**metadata, "labels": {**own, **added}}} if added else value


PLUGIN = Plugin(
    name="Kueue",
    applies=lambda draft: scheduler.is_named(draft, SCHEDULER),
    validate=validate,
    enforce_pod_group_policy=enforce_pod_group_policy,
    scheduler=SCHEDULER,
)
LABELS_OF_TRAIN_JOB = Plugin(name="KueueLabels", applies=lambda _: True, complete=complete)
