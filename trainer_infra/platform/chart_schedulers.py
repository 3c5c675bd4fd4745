"""Schedulers of groups of pods that their projects publish as charts only: KAI and YuniKorn.

Nothing of these was run by us on a cluster: their images and charts are on registries that our tests
cannot reach. The mocks of Pulumi's engine see what a chart of the same form becomes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.platform.argument_problems import (
    SHORT_NAME,
    beside_manifests,
    shape_problems,
    unknown_problems,
)
from trainer_infra.platform.chart_reference import HelmChart
from trainer_infra.platform.component import Options, PlatformComponent, without_none
from trainer_infra.platform.controller_component import Objects, merged_configuration
from trainer_infra.platform.manifests.helm_chart import installed_objects
from trainer_infra.platform.manifests.manifest_source import manifest_objects


class ChartArgs(TypedDict, total=False):
    """Arguments of what is installed from a chart."""

    version: str
    """The chart's version. No version is pinned: it is required with the published chart."""
    chart: str
    """Another chart: a folder, an archive, `oci://HOST/PATH`, or a page with the archive."""
    values: Mapping[str, Any]
    """The chart's values; a value that is an Output is not known to helm, so none may be one."""
    namespace: str
    """Where it is installed; the component makes it."""
    manifests: str
    """Rendered manifests in place of the chart, as every component takes them."""


class ChartComponent(PlatformComponent):
    """What a chart installs."""

    namespace: pulumi.Output[str]
    """Where it runs."""
    version: pulumi.Output[str]
    """The chart's version; `custom` of manifests or of another chart without a version."""
    scheduler_name: ClassVar[str]
    """What pods say in `schedulerName`; the annotation `trainer-infra.dev/scheduler`, `kai` or
    `yunikorn`, sets it."""

    _arguments = ChartArgs
    _chart: ClassVar[HelmChart]
    """The published one."""

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[ChartArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
        args = without_none(args)
        namespace = args.get("namespace", self._chart.namespace)
        with self.sentences():
            objects = chart_or_manifests(self._chart, args)
        self.resources = self._declare_objects(objects)
        self.namespace = pulumi.Output.from_input(namespace)
        self.version = pulumi.Output.from_input(args.get("version", "custom"))
        self.register_outputs({"namespace": self.namespace, "version": self.version})

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterator[Problem]:
        yield from unknown_problems(("values",), args.get("values", {}))
        if "namespace" in args:
            yield from shape_problems(("namespace",), args["namespace"], SHORT_NAME)
        yield from beside_manifests(args, "version", "chart", "values", "namespace")
        if not any(each in args for each in ("manifests", "version", "chart")):
            what = "is missing: this release of trainer-infra pins no version of the chart"
            yield Problem("version", what, fix="write the version of the chart to install")


def chart_or_manifests(published: HelmChart, args: ChartArgs) -> Objects:
    """The objects of a chart with a program's changes, or of manifests in its place.

    Raises:
        InvalidInput: The chart cannot be had as resources.
        NotAvailable: Chart or manifests cannot be fetched or rendered.
    """
    if "manifests" in args:
        return manifest_objects(args["manifests"])
    chart = replace(
        published,
        namespace=args.get("namespace", published.namespace),
        version=args.get("version", ""),
        values=merged_configuration(published.values, args.get("values", {})),
    )
    if "chart" in args:
        chart = replace(chart, reference=args["chart"], repository="")
    return installed_objects(chart)


class Kai(ChartComponent):
    """KAI Scheduler from its published chart.

    Not run here: its chart and images are on a registry that our tests cannot reach. The chart's hooks
    become resources. Two of them stay out: the copy of Kueue's topologies, and the clean-up after an
    uninstall, because `pulumi destroy` deletes KAI's Config itself.
    """

    scheduler_name = "kai-scheduler"

    _chart = HelmChart(
        "oci://ghcr.io/nvidia/kai-scheduler/kai-scheduler",
        "kai-scheduler",
        "kai-scheduler",
        values={"postCleanup": {"enabled": False}, "topologyMigration": {"enabled": False}},
        keeps_hooks=True,
    )


class Yunikorn(ChartComponent):
    """YuniKorn from its published chart.

    Not run here: its chart and images are on registries that our tests cannot reach. YuniKorn's
    admission controller would send every pod of the cluster to YuniKorn; it is off here, so that only
    pods that name the scheduler are scheduled by it. `values` switches it on again.
    """

    scheduler_name = "yunikorn"

    _chart = HelmChart(
        "yunikorn",
        "yunikorn",
        "yunikorn",
        values={"embedAdmissionController": False},
        keeps_hooks=True,
        repository="https://apache.github.io/yunikorn-release",
    )
