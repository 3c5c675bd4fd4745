"""Kueue: queue and topology of a JobSet that no stored TrainJob owns.

Kueue manages either the TrainJob or the JobSet, never both: where the TrainJob is stored in a
cluster, Kueue reads the TrainJob's own label and patches it, and the JobSet carries nothing. So
this plugin writes for engine `provider` and for previews (Kueue 0.19, integrations jobset and
trainjob). See docs/gang-scheduling.md.

`PLUGIN` is for the scheduler annotation; `LABELS_OF_TRAIN_JOB`, of engines that store no TrainJob,
copies the labels by which Kueue would have queued it.
"""

from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render import gang, scheduler
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin

QUEUE_LABELS: Final = (names.KUEUE_QUEUE_LABEL, names.KUEUE_PRIORITY_LABEL)
"""Labels of a TrainJob by which Kueue queues it."""


def applies(draft: Draft) -> bool:
    """Whether the scheduler annotation is `kueue` and no stored TrainJob owns the objects."""
    return scheduler.named(draft, names.KUEUE) and draft.job.metadata.uid is None


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """The queue of the JobSet, and the topology of the pods that must all find a place."""
    annotations = {
        theirs: value
        for ours, theirs in scheduler.KUEUE_LEVELS.items()
        if (value := draft.setting(ours))
    }
    inside = {each.name for each in gang.counted(draft)} if annotations else set()
    pod_sets = (
        replace(each, annotations={**each.annotations, **annotations})
        if each.name in inside
        else each
        for each in draft.pod_sets
    )
    labels = {**draft.labels, names.KUEUE_QUEUE_LABEL: draft.setting(names.QUEUE)}
    return replace(draft, labels=labels, pod_sets=tuple(pod_sets))


def complete(value: JSONObject, job: TrainJob) -> JSONObject:
    """The JobSet with Kueue's labels of the TrainJob, where it has none of its own."""
    if value["kind"] != names.JOBSET:
        return value
    given, metadata = job.metadata.labels or {}, value["metadata"]
    own = metadata.get("labels") or {}
    added = {key: given[key] for key in QUEUE_LABELS if key in given and key not in own}
    return {**value, "metadata": {**metadata, "labels": {**own, **added}}} if added else value


PLUGIN = Plugin(name="Kueue", applies=applies, enforce_pod_group_policy=enforce_pod_group_policy)
LABELS_OF_TRAIN_JOB = Plugin(name="KueueLabels", applies=lambda _: True, complete=complete)
