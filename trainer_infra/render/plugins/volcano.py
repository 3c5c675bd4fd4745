"""Volcano: the gang as a PodGroup of Volcano, with queue, priority and network topology.

The template names the scheduler. Rules: reference behaviour 3.9.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import gang, resolve
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin, Scheduler

SCHEDULER: Final = Scheduler(pod_group_policy="volcano", scheduler_name="volcano", has_queues=True)
BUILT_IN: Final = ("system-cluster-critical", "system-node-critical")
"""PriorityClasses of every cluster."""
MODE: Final = "hard"
HIGHEST_TIER: Final = 1


def validate(priority_classes: Collection[str] | None, draft: Draft) -> Iterable[Problem]:
    """An empty queue name, and priority classes that the cluster has not."""
    key = names.VOLCANO_QUEUE_ANNOTATION
    if draft.annotations.get(key) == "":
        yield Problem(f"spec.annotations[{key}]", "Volcano queue name must not be empty", got="")
    if priority_classes is None:
        return
    for name in _priority_classes(draft):
        if name in BUILT_IN:
            return
        if name not in priority_classes:
            yield Problem(
                "spec.templateSpec.priorityClassName",
                f'PriorityClass "{name}" doesn\'t exist: '
                f'priorityclasses.scheduling.k8s.io "{name}" not found',
                got=name,
            )


def enforce_pod_group_policy(draft: Draft) -> Draft:
    """The annotation by which the scheduler finds the pods of the gang."""
    mark = {names.VOLCANO_GROUP_ANNOTATION: draft.job.metadata.name}
    return gang.with_mark(draft, gang.members(draft), annotations=mark)


def build(draft: Draft) -> Iterable[JSONObject]:
    """The PodGroup; its priority is the last one that a replicated job names."""
    spec: dict[str, Any] = {}
    queue = draft.annotations.get(names.VOLCANO_QUEUE_ANNOTATION)
    if queue is not None:
        spec["queue"] = queue
    for name in _priority_classes(draft):
        spec["priorityClassName"] = name
    topology = _network_topology(draft)
    if topology is not None:
        spec["networkTopology"] = topology
    yield gang.pod_group(draft, names.VOLCANO_API_VERSION, spec)


def plugin(priority_classes: Collection[str] | None = None) -> Plugin:
    """The plugin for a cluster with these PriorityClasses, which a driver may read.

    None leaves priorityClassName to the API server, which checks it at each pod. (The reference
    reads them with a role that may not, and refuses every name: Q16.)
    """
    return Plugin(
        name="Volcano",
        applies=lambda draft: draft.pod_group_policy.volcano is not None,
        validate=partial(validate, priority_classes),
        enforce_pod_group_policy=enforce_pod_group_policy,
        build=build,
        should_write=gang.should_write,
        watches=gang.watches(names.VOLCANO_API_VERSION),
        scheduler=SCHEDULER,
    )


def _priority_classes(draft: Draft) -> Iterable[str]:
    for job in draft.spec["replicatedJobs"]:
        name = resolve.pod_spec(job).get("priorityClassName")
        if name is not None:
            yield name


def _network_topology(draft: Draft) -> JSONObject | None:
    volcano = draft.pod_group_policy.volcano
    topology = volcano.network_topology if volcano else None
    if topology is None:
        return None
    tier = topology.highest_tier_allowed
    return {
        "mode": topology.mode or MODE,
        "highestTierAllowed": HIGHEST_TIER if tier is None else tier,
    }


PLUGIN = plugin()
