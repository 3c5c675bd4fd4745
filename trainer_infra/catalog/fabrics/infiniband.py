"""InfiniBand through a shared device plugin, as NVIDIA's Network Operator serves it.

The resource has the name that the plugin's configuration gives it: `rdma/ib` here, `rdma/shared_ib` and
`rdma/hca_shared_devices_a` elsewhere. Azure's ND machines also need the file of their topology in the
image: `environment={"NCCL_TOPO_FILE": PATH}`.
"""

from typing import Final

from trainer_infra.catalog.fabrics import shared_memory
from trainer_infra.catalog.fabrics.fabric import Fabric, FabricPreset
from trainer_infra.catalog.fabrics.pod_patch import PodPatch

_ENVIRONMENT: Final = {"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0"}


def _patch(fabric: Fabric) -> PodPatch:
    return PodPatch(
        resources={fabric.resource: fabric.interfaces},
        env={**_ENVIRONMENT, **dict(fabric.environment)},
        # Memory that cards write to is locked.
        capabilities=("IPC_LOCK",),
        mounts=(shared_memory.MOUNT,),
        volumes=(shared_memory.VOLUME,),
    )


PRESET: Final = FabricPreset(
    name="infiniband",
    title="InfiniBand",
    cloud=None,
    source="NVIDIA Network Operator: RDMA shared device plugin; AKS: RDMA over InfiniBand for HPC and AI",
    date="2026-10",
    proven="api",
    # A shared device plugin hands all cards to a pod that asks for one.
    interfaces=1,
    resource="rdma/ib",
    patch=_patch,
)
