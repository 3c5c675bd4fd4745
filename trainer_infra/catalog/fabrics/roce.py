"""RDMA over Converged Ethernet outside of GKE: cards as devices, and networks of their own by Multus.

`networks` names NetworkAttachmentDefinitions, one for each card; without them pods see the host's cards
through the shared device plugin. Index 3 of a card's addresses is that of RoCE v2 over IPv4 on the cards
of NVIDIA; a site with others says so: `environment={"NCCL_IB_GID_INDEX": "5"}`.
"""

from typing import Final

from trainer_infra.catalog.fabrics import shared_memory
from trainer_infra.catalog.fabrics.fabric import Fabric, FabricPreset
from trainer_infra.catalog.fabrics.pod_patch import PodPatch

_ENVIRONMENT: Final = {"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0", "NCCL_IB_GID_INDEX": "3"}


def _patch(fabric: Fabric) -> PodPatch:
    networks = ",".join(fabric.networks)
    return PodPatch(
        annotations={"k8s.v1.cni.cncf.io/networks": networks} if networks else {},
        resources={fabric.resource: fabric.interfaces},
        env={**_ENVIRONMENT, **dict(fabric.environment)},
        capabilities=("IPC_LOCK",),
        mounts=(shared_memory.MOUNT,),
        volumes=(shared_memory.VOLUME,),
    )


PRESET: Final = FabricPreset(
    name="roce",
    title="RDMA over Converged Ethernet",
    cloud=None,
    source="NVIDIA Network Operator: RDMA shared device plugin and secondary networks",
    date="2026-10",
    proven="api",
    interfaces=1,
    resource="rdma/hca_shared_devices_a",
    patch=_patch,
)
