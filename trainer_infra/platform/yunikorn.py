"""YuniKorn: Apache's scheduler of groups of pods with hierarchical queues. Not run by us on a cluster."""

from typing import ClassVar, Unpack

import pulumi

from trainer_infra.platform.chart_component import ChartArgs, ChartComponent
from trainer_infra.platform.chart_reference import HelmChart


class Yunikorn(ChartComponent):
    """YuniKorn from its published chart.

    Not run here: its chart and images are on registries that our tests cannot reach. YuniKorn's
    admission controller would send every pod of the cluster to YuniKorn; it is off here, so that only
    pods that name the scheduler are scheduled by it. `values` switches it on again.
    """

    scheduler_name: ClassVar[str] = "yunikorn"
    """What pods say in `schedulerName`; the annotation `trainer-infra.dev/scheduler: yunikorn` sets it."""

    _arguments = ChartArgs
    _chart = HelmChart(
        "yunikorn",
        "yunikorn",
        "yunikorn",
        values={"embedAdmissionController": False},
        keeps_hooks=True,
        repository="https://apache.github.io/yunikorn-release",
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
