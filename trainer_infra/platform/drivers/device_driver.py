"""What makes the accelerators of a cluster's machines usable.

NVIDIA's device plugin: a pod that runs keeps its GPUs while the plugin starts anew. NVIDIA's DRA driver: jobs ask for its
GPUs by claims, which Trainer counts as no GPU (kubeflow/trainer#4027): torch then starts a process for
each core, so such a job says `numProcPerNode` itself. We have not run either on hardware.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import (
    NAME,
    SHORT_NAME,
    shape_problems,
    unknown_problems,
)
from trainer_infra.platform.chart_reference import HelmChart
from trainer_infra.platform.component import Options, PlatformComponent, without_none
from trainer_infra.platform.controller_arguments import pod_problems
from trainer_infra.platform.controller_component import merged_configuration
from trainer_infra.platform.drivers import gpu_operator
from trainer_infra.platform.drivers.cluster_drivers import DriverClaim, claim_driver
from trainer_infra.platform.drivers.driver_arguments import DeviceDriverArgs
from trainer_infra.platform.drivers.gpu_operator import GPU_TOLERATION
from trainer_infra.platform.manifests.helm_chart import chart_objects
from trainer_infra.platform.manifests.manifest_source import manifest_objects
from trainer_infra.platform.manifests.object_resources import Resources

DRA_NAMESPACE: Final = "dra-driver-nvidia-gpu"

CHART: Final = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"

VERSION: Final = "0.5.0"

_GKE_DRIVER: Final = "/home/kubernetes/bin/nvidia"

NAMESPACE: Final = "kube-system"
IMAGE: Final = "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"
_NAME: Final = "nvidia-device-plugin"
_SOCKETS: Final = "/var/lib/kubelet/device-plugins"
_LABELS: Final = {"app.kubernetes.io/name": _NAME}
_NAMESPACES: Final[Mapping[str, str]] = {
    "device_plugin": NAMESPACE,
    "dra_driver": DRA_NAMESPACE,
    "gpu_operator": gpu_operator.NAMESPACE,
}
_SHARED: Final = ("kube-system", "default")
"""Namespaces that every cluster has."""
_OF_ONE_KIND: Final = {
    "compute_domains": ("dra_driver",),
    "has_driver": ("gpu_operator",),
    "training_pods": ("gpu_operator",),
    "may_interrupt_training": ("gpu_operator",),
    "image": ("device_plugin",),
    "runtime_class": ("device_plugin",),
    "node_selector": ("device_plugin",),
    "chart": ("gpu_operator", "dra_driver"),
    "version": ("gpu_operator", "dra_driver"),
    "values": ("gpu_operator", "dra_driver"),
    "manifests": ("gpu_operator", "dra_driver"),
}
"""Arguments that only some kinds have."""


class DeviceDriver(PlatformComponent):
    """NVIDIA's GPU Operator, device plugin or DRA driver: one for each cluster."""

    namespace: pulumi.Output[str]
    """Where it runs."""
    resources: Resources
    """Its objects, by `Kind/name` or `Kind/namespace/name`."""

    _arguments = DeviceDriverArgs

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[DeviceDriverArgs]
    ) -> None:
        """Install it.

        Args:
            resource_name: Name of the component and of the chart's release, and the beginning of its
                resources' names.
            opts: Options of the component.
            args: See `DeviceDriverArgs`.
        """
        super().__init__(resource_name, args, opts)
        args = without_none(args)
        with self.sentences():
            installs = args["kind"] == "gpu_operator" and not gpu_operator.has_driver(args)
            claim_driver(self, DriverClaim(resource_name, args["kind"], installs))
            objects = driver_objects(resource_name, args)
        self.resources = self._declare_objects(objects)
        self.namespace = pulumi.Output.from_input(driver_namespace(args))
        self.register_outputs({"namespace": self.namespace})

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterator[Problem]:
        yield from pod_problems(args)
        yield from unknown_problems(("values",), args.get("values", {}))
        for name, shape in (("namespace", SHORT_NAME), ("runtime_class", NAME)):
            if name in args:
                yield from shape_problems((name,), args[name], shape)
        yield from driver_problems(args)


def driver_problems(args: DeviceDriverArgs) -> Iterator[Problem]:
    """What cannot work of the arguments."""
    kind = args["kind"]
    for argument, kinds in _OF_ONE_KIND.items():
        if argument in args and kind not in kinds:
            yield Problem(argument, f"is of {' and '.join(kinds)}; {kind} has none")
    yield from _source_problems(args)
    if kind == "gpu_operator" and not args.get("may_interrupt_training", False):
        yield from gpu_operator.interruptions(chart_values(args))


def _source_problems(args: DeviceDriverArgs) -> Iterator[Problem]:
    if "manifests" in args:
        for argument in ("chart", "version", "values"):
            if argument in args:
                yield Problem(argument, "and manifests exclude one another", fix="leave one out")
    elif args["kind"] == "gpu_operator" and "version" not in args:
        here = Path(args.get("chart", gpu_operator.CHART)).exists()
        if not here:
            what = "is missing: without it each run may install another release"
            yield Problem("version", what)


def driver_namespace(args: DeviceDriverArgs) -> str:
    """Where it runs."""
    return args.get("namespace", _NAMESPACES[args["kind"]])


def chart_values(args: DeviceDriverArgs) -> JSONObject:
    """Values of its chart, the program's over ours."""
    made = gpu_operator.operator_values if args["kind"] == "gpu_operator" else (
        dra_driver_values
    )  # fmt: skip
    values: JSONObject = merged_configuration(made(args), args.get("values", {}))
    return values


def driver_objects(name: str, args: DeviceDriverArgs) -> tuple[JSONObject, ...]:
    """Its objects, the namespace first.

    Args:
        name: of the chart's release.
        args: in which there is no problem.

    Raises:
        InvalidInput: The chart has hooks, or the manifests are none.
        NotAvailable: The chart cannot be rendered.
    """
    namespace = driver_namespace(args)
    own: list[JSONObject] = []
    if namespace not in _SHARED:
        own.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    if args.get("cloud") == "gcp" and namespace not in _SHARED:
        own.append(gpu_operator.critical_pods_quota(namespace))
    if args["kind"] == "device_plugin":
        return (*own, *device_plugin_objects(args, namespace))
    if "manifests" in args:
        return (*own, *manifest_objects(args["manifests"]))
    return (*own, *chart_objects(_chart(name, args, namespace)))


def _chart(name: str, args: DeviceDriverArgs, namespace: str) -> HelmChart:
    is_operator = args["kind"] == "gpu_operator"
    chart = gpu_operator.CHART if is_operator else CHART
    repository = gpu_operator.REPOSITORY if is_operator and "chart" not in args else ""
    version = "" if is_operator or "chart" in args else VERSION
    values: dict[str, Any] = dict(chart_values(args))
    return HelmChart(
        args.get("chart", chart),
        name,
        namespace,
        args.get("version", version),
        values,
        repository=repository,
    )


def device_plugin_objects(args: DeviceDriverArgs, namespace: str) -> tuple[JSONObject, ...]:
    """The DaemonSet.

    Args:
        args: the program's.
        namespace: where it runs.
    """
    container: JSONDict = {
        "name": _NAME,
        "image": args.get("image", IMAGE),
        # A machine without GPUs has nothing to offer, which is not a failure.
        "env": [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "sockets", "mountPath": _SOCKETS}],
    }
    pod: JSONDict = {
        "priorityClassName": "system-node-critical",
        "tolerations": [dict(each) for each in args.get("tolerations", (GPU_TOLERATION,))],
        "containers": [container],
        "volumes": [{"name": "sockets", "hostPath": {"path": _SOCKETS}}],
    }
    if "node_selector" in args:
        pod["nodeSelector"] = dict(args["node_selector"])
    if "runtime_class" in args:
        pod["runtimeClassName"] = args["runtime_class"]
    spec = {
        "selector": {"matchLabels": _LABELS},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": _LABELS}, "spec": pod},
    }
    metadata = {"name": _NAME, "namespace": namespace, "labels": _LABELS}
    return ({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec},)


def dra_driver_values(args: DeviceDriverArgs) -> JSONDict:
    """Values of the chart before those of the program."""
    tolerations = [dict(each) for each in args.get("tolerations", (GPU_TOLERATION,))]
    return {
        "nvidiaDriverRoot": _GKE_DRIVER if args.get("cloud") == "gcp" else "/",
        "resources": {
            "gpus": {"enabled": True},
            "computeDomains": {"enabled": args.get("compute_domains", True)},
        },
        # The chart refuses GPUs without it, for clusters that have a device plugin as well.
        "gpuResourcesEnabledOverride": True,
        "kubeletPlugin": {"tolerations": tolerations},
    }
