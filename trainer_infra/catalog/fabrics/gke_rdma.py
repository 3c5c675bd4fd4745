"""RDMA over Converged Ethernet of GKE's A3 Ultra and A4 machines, through Google's plugin gIB.

The nodes need the DaemonSet `nccl-rdma-installer`, the cluster multiple networks: one of kind NetDevice
and eight of kind RDMA. What NCCL is tuned by is on the node: a training command that wants all of it
begins with `source /usr/local/gib/scripts/set_nccl_env.sh`, which an object cannot do for it.
"""

from typing import Final

from trainer_infra.catalog.fabrics import gke_networks
from trainer_infra.catalog.fabrics.fabric import Fabric, FabricPreset
from trainer_infra.catalog.fabrics.pod_patch import PodPatch

_GIB: Final = "/usr/local/gib"
_ENVIRONMENT: Final = {
    "LD_LIBRARY_PATH": f"{_GIB}/lib64:{gke_networks.LIBRARIES}",
    "NCCL_NET": "gIB",
    "NCCL_SOCKET_IFNAME": "eth0,eth1",
    "NCCL_CROSS_NIC": "0",
    "NCCL_NET_GDR_LEVEL": "PIX",
}


def _patch(fabric: Fabric) -> PodPatch:
    cards = tuple(f"rdma-{each}" for each in range(fabric.interfaces - 1))
    return PodPatch(
        annotations=gke_networks.interface_annotations(fabric.networks or ("gvnic-1", *cards)),
        env=_ENVIRONMENT,
        capabilities=("IPC_LOCK",),
        mounts=(gke_networks.DRIVER_MOUNT, {"name": "fabric-gib", "mountPath": _GIB}),
        volumes=(
            gke_networks.DRIVER,
            {"name": "fabric-gib", "hostPath": {"path": "/home/kubernetes/bin/gib"}},
        ),
    )


PRESET: Final = FabricPreset(
    name="gke_rdma",
    title="GPUDirect RDMA with gIB (GKE, A3 Ultra and A4)",
    cloud="gcp",
    source="Google Cloud AI Hypercomputer: create a GKE cluster with A4 or A3 Ultra machines",
    date="2026-10",
    proven="api",
    interfaces=9,
    resource="",
    patch=_patch,
)
