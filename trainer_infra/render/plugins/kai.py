"""KAI: the gang, its queue and its topology by labels and annotations of the JobSet.

KAI's pod grouper skips the TrainJob and makes the PodGroup from the JobSet: one subgroup per
replicated job, each as large as its parallelism (KAI 0.16, pkg/podgrouper, docs/batch). See
docs/gang-scheduling.md.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.render import gang, scheduler
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin, Scheduler

ANNOTATIONS: Final = {
    names.TOPOLOGY: "kai.scheduler/topology",
    names.REQUIRED_TOPOLOGY: "kai.scheduler/topology-required-placement",
    names.PREFERRED_TOPOLOGY: "kai.scheduler/topology-preferred-placement",
}
"""KAI's annotation for each of our settings."""
QUEUE_LABEL: Final = "kai.scheduler/queue"
API_VERSION: Final = "scheduling.run.ai/v2"
"""Of KAI's queues, whose kind is called as Volcano's is."""
MIN_MEMBER: Final = "kai.scheduler/batch-min-member"
SCHEDULER: Final = Scheduler(
    annotation="kai",
    settings=(names.QUEUE, *ANNOTATIONS),
    scheduler_name="kai-scheduler",
    has_queues=True,
)


def validate(draft: Draft) -> Iterable[Problem]:
    """A level of a topology that is not named, and a topology without a level."""
    levels = scheduler.topology_levels(draft)
    if draft.setting(names.TOPOLOGY) is None:
        for each in levels:
            what = f"needs {names.TOPOLOGY}, the name of a KAI Topology"
            yield scheduler.setting_problem(draft, each, what, "add it")
    elif not levels:
        fix = f"add {' or '.join(scheduler.LEVELS)}"
        yield scheduler.setting_problem(draft, names.TOPOLOGY, "needs a level of the topology", fix)


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """The scheduler of every pod, and what KAI reads of the JobSet.

    KAI wants every replicated job at once, which jobs that wait for others cannot give: there each
    replicated job is a gang of its own.
    """
    annotations = scheduler.settings_as(ANNOTATIONS, draft)
    if any(gang.waits_of(draft.spec).values()):
        annotations[MIN_MEMBER] = "1"
    queue = draft.setting(names.QUEUE)
    labels = {QUEUE_LABEL: queue} if queue else {}
    pod_sets = (replace(each, scheduler_name=SCHEDULER.scheduler_name) for each in draft.pod_sets)
    return replace(
        draft,
        labels={**draft.labels, **labels},
        annotations={**draft.annotations, **annotations},
        pod_sets=tuple(pod_sets),
    )


PLUGIN = Plugin(
    name="KAI",
    applies=lambda draft: scheduler.is_named(draft, SCHEDULER),
    validate=validate,
    enforce_pod_group_policy=enforce_pod_group_policy,
    scheduler=SCHEDULER,
)
