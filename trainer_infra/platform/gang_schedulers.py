"""Schedulers that start the pods of a group together, from published manifests and charts.

A runtime's pods are a gang by its policy and the scheduler's name: with the policy alone, Kubernetes' own
scheduler starts pods one by one.

Volcano: a Job of the release makes the webhooks' certificate before anything else starts. Volcano's published
webhooks see every pod of a cluster, and no pod can be made while they do not answer. Here they see the pods
that name Volcano, and all pods only where Volcano's resource groups are to choose their scheduler.

Coscheduling: the published chart lacks a right that the scheduler of Kubernetes 1.32 needs: without it, it
waits for its first list of VolumeAttachments forever and schedules nothing, while its probe says that it is
well.
"""

from copy import deepcopy
from typing import Any, ClassVar, Final, Unpack

import yaml
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.component import Options
from trainer_infra.platform.controller_arguments import SchedulerArgs
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
    Objects,
)
from trainer_infra.platform.manifests.manifest_text import with_containers

SCHEDULER: Final = "scheduler-plugins-scheduler"
_LACKING: Final = {
    "apiGroups": ["storage.k8s.io"],
    "resources": ["volumeattachments"],
    "verbs": ["get", "list", "watch"],
}
_PATIENCE: Final = "--pod-max-in-unschedulable-pods-duration=30s"
"""The plugin asks to be woken by new pods alone, not by those that end, so a gang would see new room
after the five minutes of the scheduler's default."""
_LEASE: Final = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "sched-plugins-controllers", "namespace": "kube-system"},
}
"""By which its controllers choose a leader, outside of their namespace: undeclared, `destroy` would leave it."""


class GangScheduler(ControllerComponent):
    """A scheduler that schedules pods that name it, and leaves the cluster's own scheduler as it is."""

    scheduler_name: ClassVar[str]
    """What pods say in `schedulerName`; a runtime has to, podGroupPolicy does not."""

    _arguments = SchedulerArgs
    _policy: ClassVar[str]
    """The field of podGroupPolicy."""

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[SchedulerArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)

    @classmethod
    def gang_runtime(cls, runtime: JSONObject) -> JSONObject:
        """A runtime in wire form whose runs it starts together: `RuntimeCatalog(transform=)` takes it."""
        return gang_runtime(runtime, cls._policy, cls.scheduler_name)


class Coscheduling(GangScheduler):
    """The scheduler of scheduler-plugins with its plugin Coscheduling, from the published chart.

    Of its arguments, `images` has `scheduler` and `controller`, and `configuration` is a
    KubeSchedulerConfiguration.
    """

    scheduler_name = SCHEDULER

    _policy = "coscheduling"
    _names = ControllerNames(
        "Coscheduling",
        "scheduler-plugins",
        SCHEDULER,
        "scheduler-config",
        "scheduler-config.yaml",
        {"scheduler": (SCHEDULER,), "controller": ("scheduler-plugins-controller",)},
    )

    @override
    def _prepared(self, objects: Objects, args: Any) -> Objects:
        return (*map(_that_works, objects), _LEASE)


_OWN_POD: Final = {"name": "names-volcano", "expression": "object.spec.schedulerName == 'volcano'"}
_ELECTS: Final = {"--leader-elect=false": "--leader-elect=true"}
"""Without it a change has two schedulers for a while, which bind the same pods."""


class Volcano(GangScheduler):
    """Volcano's scheduler, controllers and webhooks, from its published manifests.

    Of its arguments, `images` has `scheduler`, `controllers` and `admission`, and `configuration` is the
    scheduler's: `actions` and `tiers`.
    """

    scheduler_name = "volcano"

    _policy = "volcano"
    _names = ControllerNames(
        "Volcano",
        "volcano-system",
        "volcano-scheduler",
        "volcano-scheduler-configmap",
        "volcano-scheduler.conf",
        {
            "scheduler": ("volcano-scheduler",),
            "controllers": ("volcano-controllers",),
            "admission": ("volcano-admission", "volcano-admission-init"),
        },
        ("Queue/default", "Queue/root"),
    )

    @override
    def _prepared(self, objects: Objects, args: Any) -> Objects:
        elected = (with_containers(each, _with_leader) for each in objects)
        return tuple(_of_own_pods(each, objects) for each in elected)


def _of_own_pods(value: JSONObject, objects: Objects) -> JSONObject:
    """A webhook configuration that lets pods of other schedulers alone."""
    judges = value["kind"] == "ValidatingWebhookConfiguration"
    changes = value["kind"] == "MutatingWebhookConfiguration" and not _has_resource_groups(objects)
    if not (judges or changes):
        return value
    webhooks = [
        {**each, "matchConditions": [_OWN_POD]}
        if any("pods" in rule["resources"] for rule in each["rules"])
        else each
        for each in value["webhooks"]
    ]
    return {**value, "webhooks": webhooks}


def _has_resource_groups(objects: Objects) -> bool:
    """Whether the admission's configuration says anything; the published one is a comment."""
    texts = (
        each["data"].get("volcano-admission.conf", "")
        for each in objects
        if each["kind"] == "ConfigMap"
    )
    return any(yaml.load(text, yaml.CSafeLoader) for text in texts)


def _with_leader(container: JSONObject) -> JSONObject:
    """A container whose pods elect the one that works."""
    return {**container, "args": [_ELECTS.get(arg, arg) for arg in container.get("args", ())]}


def _that_works(value: JSONObject) -> JSONObject:
    if value["metadata"]["name"] != SCHEDULER:
        return value
    if value["kind"] == "ClusterRole":
        return {**value, "rules": [*value["rules"], _LACKING]}
    return with_containers(value, lambda each: {**each, "args": [*each["args"], _PATIENCE]})


def gang_runtime(runtime: JSONObject, policy: str, scheduler: str) -> JSONObject:
    """A runtime of either kind, in wire form, whose pods are a gang of a scheduler.

    What it says itself stays; one without this field of podGroupPolicy is left as it is.
    """
    made: dict[str, Any] = deepcopy(dict(runtime))
    if policy not in made["spec"].setdefault("podGroupPolicy", {policy: {}}):
        return runtime
    jobset = (made["spec"].get("template") or {}).get("spec") or {}
    for job in jobset.get("replicatedJobs") or ():
        pods = job["template"].setdefault("spec", {}).setdefault("template", {})
        pods.setdefault("spec", {}).setdefault("schedulerName", scheduler)
    return made
