"""Coscheduling: a second scheduler that starts the pods of a group at once, and its controller."""

from typing import ClassVar, Unpack

import pulumi

from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
    SchedulerArgs,
)


class Coscheduling(ControllerComponent):
    """The scheduler of scheduler-plugins with its plugin Coscheduling, from the published chart.

    It schedules pods that name it, and leaves the cluster's own scheduler as it is.
    """

    scheduler_name: ClassVar[str] = "scheduler-plugins-scheduler"
    """What pods say in `schedulerName`; a runtime has to, podGroupPolicy does not."""

    _arguments = SchedulerArgs
    _names = ControllerNames(
        "Coscheduling",
        "scheduler-plugins",
        scheduler_name,
        "scheduler-config",
        "scheduler-config.yaml",
        {"scheduler": (scheduler_name,), "controller": ("scheduler-plugins-controller",)},
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
