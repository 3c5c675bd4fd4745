"""What makes the accelerators of a cluster's machines usable.

NVIDIA's device plugin: a pod that runs keeps its GPUs while the plugin starts anew. NVIDIA's DRA driver: jobs ask for its
GPUs by claims, which Trainer counts as no GPU (kubeflow/trainer#4027): torch then starts a process for
each core, so such a job says `numProcPerNode` itself. We have not run either on hardware.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import (
    NAME,
    SHORT_NAME,
    beside_manifests,
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

CHARTS: Final[Mapping[str, HelmChart]] = {
    "gpu_operator": HelmChart(
        "gpu-operator", "", "gpu-operator", repository="https://helm.ngc.nvidia.com/nvidia"
    ),
    "dra_driver": HelmChart(
        "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu",
        "",
        "dra-driver-nvidia-gpu",
        "0.5.0",
    ),
}
"""The published ones, by kind, without the name of the release."""
NAMESPACE: Final = "kube-system"
"""Of the device plugin."""
IMAGE: Final = "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"
_NAME: Final = "nvidia-device-plugin"
_SOCKETS: Final = "/var/lib/kubelet/device-plugins"
_LABELS: Final = {"app.kubernetes.io/name": _NAME}
_SHARED: Final = ("kube-system", "default")
"""Namespaces that every cluster has."""
_OF_ONE_KIND: Final = {
    "compute_domains": ("dra_driver",),
    **dict.fromkeys(("has_driver", "training_pods", "may_interrupt_training"), ("gpu_operator",)),
    **dict.fromkeys(("image", "runtime_class", "node_selector"), ("device_plugin",)),
    **dict.fromkeys(("chart", "version", "values", "manifests"), ("gpu_operator", "dra_driver")),
}
"""Arguments that only some kinds have."""


class DeviceDriver(PlatformComponent):
    """NVIDIA's GPU Operator, device plugin or DRA driver: one for each cluster.

    The release of its chart has the component's name.
    """

    namespace: pulumi.Output[str]
    """Where it runs."""

    _arguments = DeviceDriverArgs

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[DeviceDriverArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
        args = without_none(args)
        with self.sentences():
            installs = args["kind"] == "gpu_operator" and not gpu_operator.has_driver(args)
            claim_driver(self, DriverClaim(resource_name, args["kind"], installs))
            objects = _driver_objects(resource_name, args)
        self.resources = self._declare_objects(objects)
        self.namespace = pulumi.Output.from_input(_driver_namespace(args))
        self.register_outputs({"namespace": self.namespace})

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterator[Problem]:
        yield from pod_problems(args)
        yield from unknown_problems(("values",), args.get("values", {}))
        for name, shape in (("namespace", SHORT_NAME), ("runtime_class", NAME)):
            if name in args:
                yield from shape_problems((name,), args[name], shape)
        yield from _driver_problems(args)


def _driver_problems(args: DeviceDriverArgs) -> Iterator[Problem]:
    kind = args["kind"]
    for argument, kinds in _OF_ONE_KIND.items():
        if argument in args and kind not in kinds:
            yield Problem(argument, f"is of {' and '.join(kinds)}; {kind} has none")
    yield from beside_manifests(args, "chart", "version", "values")
    if kind != "gpu_operator":
        return
    here = Path(args.get("chart", CHARTS[kind].reference)).exists()
    if "manifests" not in args and "version" not in args and not here:
        yield Problem("version", "is missing: without it each run may install another release")
    if not args.get("may_interrupt_training", False):
        yield from gpu_operator.interruptions(_chart_values(args))


def _driver_namespace(args: DeviceDriverArgs) -> str:
    published = CHARTS.get(args["kind"])
    return args.get("namespace", published.namespace if published else NAMESPACE)


def _chart_values(args: DeviceDriverArgs) -> Any:
    """Values of its chart, the program's over ours."""
    is_operator = args["kind"] == "gpu_operator"
    ours = gpu_operator.operator_values(args) if is_operator else _dra_driver_values(args)
    return merged_configuration(ours, args.get("values", {}))


def _driver_objects(name: str, args: DeviceDriverArgs) -> tuple[JSONObject, ...]:
    """Its objects, the namespace first; the name is that of the chart's release."""
    namespace = _driver_namespace(args)
    own: list[JSONObject] = []
    if namespace not in _SHARED:
        own.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    if args.get("cloud") == "gcp" and namespace not in _SHARED:
        own.append(gpu_operator.critical_pods_quota(namespace))
    if args["kind"] == "device_plugin":
        return (*own, _device_plugin(args, namespace))
    if "manifests" in args:
        return (*own, *manifest_objects(args["manifests"]))
    chart = CHARTS[args["kind"]]
    if "chart" in args:
        chart = replace(chart, reference=args["chart"], repository="", version="")
    version, values = args.get("version", chart.version), _chart_values(args)
    made = replace(chart, release=name, namespace=namespace, version=version, values=values)
    return (*own, *chart_objects(made))


def _device_plugin(args: DeviceDriverArgs, namespace: str) -> JSONObject:
    container: JSONDict = {
        "name": _NAME,
        "image": args.get("image", IMAGE),
        # A machine without GPUs has nothing to offer, which is not a failure.
        "env": [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
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
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec}


def _dra_driver_values(args: DeviceDriverArgs) -> JSONDict:
    """Values of the chart before those of the program."""
    tolerations = [dict(each) for each in args.get("tolerations", (GPU_TOLERATION,))]
    return {
        "nvidiaDriverRoot": gpu_operator.GKE_DRIVER if args.get("cloud") == "gcp" else "/",
        "resources": {
            "gpus": {"enabled": True},
            "computeDomains": {"enabled": args.get("compute_domains", True)},
        },
        # The chart refuses GPUs without it, for clusters that have a device plugin as well.
        "gpuResourcesEnabledOverride": True,
        "kubeletPlugin": {"tolerations": tolerations},
    }
