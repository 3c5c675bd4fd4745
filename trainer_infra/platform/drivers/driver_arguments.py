"""Arguments of a DeviceDriver."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import pulumi

from trainer_infra.catalog.machine_types import Cloud

DriverKind = Literal["device_plugin", "dra_driver", "gpu_operator"]


class DeviceDriverArgs(TypedDict, total=False):
    """Arguments of DeviceDriver."""

    kind: Required[DriverKind]
    """`gpu_operator`: NVIDIA's GPU Operator; `device_plugin`: NVIDIA's device plugin alone, on machines
    that have the driver; `dra_driver`: NVIDIA's driver of DynamicResourceAllocation, on such machines."""
    cloud: Cloud
    """Where the cluster runs: on GKE paths and quotas are others."""
    has_driver: bool
    """Whether the machines come with the driver, so that the GPU Operator installs none; true on AWS and
    GCP unless given, and false elsewhere."""
    training_pods: str
    """Label selector of the pods that a driver's upgrade waits for; those of every JobSet unless given."""
    may_interrupt_training: bool
    """Whether `values` may let an upgrade end training pods; false unless given."""
    compute_domains: bool
    """Of `dra_driver`: whether it serves ComputeDomains (NVLink between machines); true unless given."""
    chart: str
    """A folder, an archive, `oci://HOST/PATH`, or `REPOSITORY/NAME` that helm knows."""
    version: str
    """Of the chart."""
    values: Mapping[str, Any]
    """Values of the chart; an object is merged into ours, anything else replaces ours."""
    manifests: str
    """Manifests in place of the chart: a file, a folder, or `https://HOST/PATH#sha256=HASH`."""
    namespace: str
    """Where it runs."""
    image: pulumi.Input[str]
    """Of `device_plugin`: its image."""
    runtime_class: str
    """Of `device_plugin`: the RuntimeClass of its pods, where NVIDIA's runtime is not the default."""
    node_selector: Mapping[str, str]
    """Of `device_plugin`: labels of the machines that it runs on."""
    tolerations: Sequence[Mapping[str, Any]]
    """What its pods on machines tolerate, in wire form; the taint `nvidia.com/gpu` unless given."""
