"""KAI: the gang, its queue and its topology by labels and annotations of the JobSet.

KAI's pod grouper skips the TrainJob and makes the PodGroup from the JobSet: one subgroup per
replicated job, each as large as its parallelism (KAI 0.16, pkg/podgrouper, docs/batch). See
docs/gang-scheduling.md.
"""

from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.render import gang, scheduler
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin

ANNOTATIONS: Final = {
    names.TOPOLOGY: names.KAI_TOPOLOGY,
    names.REQUIRED_TOPOLOGY: names.KAI_REQUIRED_TOPOLOGY,
    names.PREFERRED_TOPOLOGY: names.KAI_PREFERRED_TOPOLOGY,
}
"""KAI's annotation for each of our settings."""


def applies(draft: Draft) -> bool:
    """Whether the scheduler annotation is `kai`."""
    return scheduler.named(draft, names.KAI)


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """The scheduler of every pod, and what KAI reads of the JobSet.

    KAI wants every replicated job at once, which jobs that wait for others cannot give: there each
    replicated job is a gang of its own.
    """
    annotations = {
        theirs: value for ours, theirs in ANNOTATIONS.items() if (value := draft.setting(ours))
    }
    if any(gang.waits(draft).values()):
        annotations[names.KAI_MIN_MEMBER] = "1"
    queue = draft.setting(names.QUEUE)
    labels = {names.KAI_QUEUE_LABEL: queue} if queue else {}
    pod_sets = (replace(each, scheduler_name=names.KAI_SCHEDULER) for each in draft.pod_sets)
    return replace(
        draft,
        labels={**draft.labels, **labels},
        annotations={**draft.annotations, **annotations},
        pod_sets=tuple(pod_sets),
    )


PLUGIN = Plugin(name="KAI", applies=applies, enforce_pod_group_policy=enforce_pod_group_policy)
