"""YuniKorn: the gang as task groups of an application, by labels and annotations of the pods.

Every pod of an application says the whole of its task groups, from which YuniKorn reserves places
before it starts the first pod (YuniKorn 1.6, user guide, gang scheduling). Jobs outside the gang
are applications of their own: YuniKorn would otherwise wait for pods that start only after them.
See docs/gang-scheduling.md.
"""

import hashlib
import json
from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.render import gang, resolve, resources, scheduler
from trainer_infra.render.draft import Draft, PodSet
from trainer_infra.render.phases import Plugin, Scheduler

SCHEDULER: Final = Scheduler(
    annotation="yunikorn", settings=(names.QUEUE,), scheduler_name="yunikorn", has_queues=True
)
APP_LABEL: Final = "yunikorn.apache.org/app-id"
QUEUE_LABEL: Final = "yunikorn.apache.org/queue"
TASK_GROUP: Final = "yunikorn.apache.org/task-group-name"
TASK_GROUPS: Final = "yunikorn.apache.org/task-groups"
LIMIT: Final = 63
"""Characters of a label's value."""
PLACEMENT: Final = ("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints")
"""Fields of a PodSpec that a task group repeats, so that the reserved places fit the pods."""


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """Scheduler, application, queue and task groups of every pod."""
    counted = {each.name for each in gang.counted_members(draft)}
    inside = {each.name for each in gang.members(draft)}
    jobs = zip(draft.spec["replicatedJobs"], draft.pod_sets, strict=True)
    listed = [_task_group(template, each) for template, each in jobs if each.name in counted]
    groups = json.dumps(listed, separators=(",", ":"))

    def change(pod_set: PodSet) -> PodSet:
        member = pod_set.name in inside
        annotations = {TASK_GROUPS: groups} if member else {}
        if pod_set.name in counted:
            annotations[TASK_GROUP] = pod_set.name
        return replace(
            pod_set,
            labels={**pod_set.labels, **_labels(draft, None if member else pod_set.name)},
            annotations={**pod_set.annotations, **annotations},
            scheduler_name=SCHEDULER.scheduler_name,
        )

    return replace(draft, pod_sets=tuple(change(each) for each in draft.pod_sets))


def application(draft: Draft, outside: str | None = None) -> str:
    """The application's id, unique in the cluster: `<namespace>.<TrainJob>`.

    A replicated job outside the gang has an application of its own.
    """
    metadata = draft.job.metadata
    text = ".".join(each for each in (metadata.namespace, metadata.name, outside) if each)
    if len(text) <= LIMIT:
        return text
    tail = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: LIMIT - len(tail) - 1]}-{tail}"


def _labels(draft: Draft, outside: str | None) -> JSONObject:
    labels = {APP_LABEL: application(draft, outside)}
    queue = draft.setting(names.QUEUE)
    return {**labels, QUEUE_LABEL: queue} if queue else labels


def _task_group(template: JSONObject, pod_set: PodSet) -> JSONObject:
    pod = resolve.pod_spec(template)
    requests = resources.requests_of_pod(pod, defaulted=True)
    return {
        "name": pod_set.name,
        "minMember": pod_set.count,
        "minResource": {name: str(each) for name, each in requests.items()},
        **{key: pod[key] for key in PLACEMENT if pod.get(key)},
    }


PLUGIN = Plugin(
    name="YuniKorn",
    applies=lambda draft: scheduler.is_named(draft, SCHEDULER),
    enforce_pod_group_policy=enforce_pod_group_policy,
    scheduler=SCHEDULER,
)
