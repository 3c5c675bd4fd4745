"""KAI: NVIDIA's scheduler of groups of pods with hierarchical queues. Not run by us on a cluster."""

from typing import ClassVar, Unpack

import pulumi

from trainer_infra.platform.chart_component import ChartArgs, ChartComponent
from trainer_infra.platform.chart_reference import HelmChart


class Kai(ChartComponent):
    """KAI Scheduler from its published chart.

    Not run here: its chart and images are on a registry that our tests cannot reach. The chart's hooks
    become resources. Two of them stay out: the copy of Kueue's topologies, and the clean-up after an
    uninstall, because `pulumi destroy` deletes KAI's Config itself.
    """

    scheduler_name: ClassVar[str] = "kai-scheduler"
    """What pods say in `schedulerName`; the annotation `trainer-infra.dev/scheduler: kai` sets it."""

    _arguments = ChartArgs
    _chart = HelmChart(
        "oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler",
        "kai-scheduler",
        "kai-scheduler",
        values={"postCleanup": {"enabled": False}, "topologyMigration": {"enabled": False}},
        keeps_hooks=True,
    )

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ChartArgs],
    ) -> None:
        """Install it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `ChartArgs`; `version` is required.
        """
        super().__init__(resource_name, args, opts)
