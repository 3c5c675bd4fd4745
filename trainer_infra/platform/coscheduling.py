"""Coscheduling: a second scheduler that starts the pods of a group at once, and its controller.

The published chart lacks a right that the scheduler of Kubernetes 1.32 needs: without it, it waits for
its first list of VolumeAttachments for ever and schedules nothing, while its probe says that it is well.
"""

from typing import Any, ClassVar, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.controller_arguments import SchedulerArgs
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
    Objects,
)
from trainer_infra.platform.gang_runtime import gang_runtime

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


class Coscheduling(ControllerComponent):
    """The scheduler of scheduler-plugins with its plugin Coscheduling, from the published chart.

    It schedules pods that name it, and leaves the cluster's own scheduler as it is.
    """

    scheduler_name: ClassVar[str] = SCHEDULER
    """What pods say in `schedulerName`; a runtime has to, podGroupPolicy does not."""

    _arguments = SchedulerArgs
    _names = ControllerNames(
        "Coscheduling",
        "scheduler-plugins",
        SCHEDULER,
        "scheduler-config",
        "scheduler-config.yaml",
        {"scheduler": (SCHEDULER,), "controller": ("scheduler-plugins-controller",)},
    )

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[SchedulerArgs],
    ) -> None:
        """Install it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `SchedulerArgs`; `images` has `scheduler` and `controller`, and `configuration`
                is a KubeSchedulerConfiguration.
        """
        super().__init__(resource_name, args, opts)

    @staticmethod
    def gang_runtime(runtime: JSONObject) -> JSONObject:
        """A runtime in wire form whose runs it starts together: `RuntimeCatalog(transform=)` takes it."""
        return gang_runtime(runtime, "coscheduling", SCHEDULER)

    @override
    def _prepared(self, objects: Objects, args: Any) -> Objects:
        return (*map(_that_works, objects), _LEASE)


def _that_works(value: JSONObject) -> JSONObject:
    if value["metadata"]["name"] != SCHEDULER:
        return value
    if value["kind"] == "ClusterRole":
        return {**value, "rules": [*value["rules"], _LACKING]}
    if value["kind"] != "Deployment":
        return value
    pods = value["spec"]["template"]
    containers = [
        {**each, "args": [*each["args"], _PATIENCE]} for each in pods["spec"]["containers"]
    ]
    template = {**pods, "spec": {**pods["spec"], "containers": containers}}
    return {**value, "spec": {**value["spec"], "template": template}}
