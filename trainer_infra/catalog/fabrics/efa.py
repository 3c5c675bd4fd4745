"""AWS' Elastic Fabric Adapter: RDMA past the kernel, through libfabric and NCCL's plugin for it.

The training image needs libfabric and aws-ofi-nccl. The cluster needs EFA's device plugin, which serves
the resource; the machines need one security group that lets all traffic of its own members in and out.
"""

from typing import Final

from trainer_infra.catalog.fabrics.fabric import Fabric, FabricPreset
from trainer_infra.catalog.fabrics.pod_patch import PodPatch

RESOURCE: Final = "vpc.amazonaws.com/efa"
"""What EFA's device plugin serves."""
_ENVIRONMENT: Final = {
    "FI_PROVIDER": "efa",
    "FI_EFA_USE_DEVICE_RDMA": "1",
    # NCCL's own connections stay on the interface of the pod.
    "NCCL_SOCKET_IFNAME": "^docker,lo,veth",
}


def _patch(fabric: Fabric) -> PodPatch:
    return PodPatch(
        resources={fabric.resource: fabric.interfaces},
        env=_ENVIRONMENT,
    )


PRESET: Final = FabricPreset(
    name="efa",
    title="AWS Elastic Fabric Adapter",
    cloud="aws",
    source="Amazon EKS: run machine learning training with Elastic Fabric Adapter; aws-efa-k8s-device-plugin 0.5",
    date="2026-10",
    proven="api",
    interfaces=0,
    resource=RESOURCE,
    patch=_patch,
)
