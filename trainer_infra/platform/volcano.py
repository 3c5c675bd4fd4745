"""Volcano: a scheduler of groups of pods with queues, its controllers and its webhooks.

A Job of the release makes the webhooks' certificate before anything else starts.
"""

from typing import Any, ClassVar, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
    Objects,
    SchedulerArgs,
)

_ELECTS: Final = {"--leader-elect=false": "--leader-elect=true"}
"""Without it a change has two schedulers for a while, which bind the same pods."""


class Volcano(ControllerComponent):
    """Volcano's scheduler, controllers and webhooks, from its published manifests.

    It schedules pods that name it, and leaves the cluster's own scheduler as it is.
    """

    scheduler_name: ClassVar[str] = "volcano"
    """What pods say in `schedulerName`; a runtime has to, podGroupPolicy does not."""

    _arguments = SchedulerArgs
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
            args: See `SchedulerArgs`; `images` has `scheduler`, `controllers` and `admission`, and
                `configuration` is the scheduler's: `actions` and `tiers`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _prepared(self, objects: Objects, args: Any) -> Objects:
        return tuple(map(_with_leader, objects))


def _with_leader(value: JSONObject) -> JSONObject:
    """A Deployment whose pods elect the one that works."""
    if value["kind"] != "Deployment":
        return value
    pods = value["spec"]["template"]
    containers = [
        {**each, "args": [_ELECTS.get(arg, arg) for arg in each.get("args", ())]}
        for each in pods["spec"]["containers"]
    ]
    template = {**pods, "spec": {**pods["spec"], "containers": containers}}
    return {**value, "spec": {**value["spec"], "template": template}}
