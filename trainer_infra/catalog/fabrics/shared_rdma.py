"""RDMA by cards that a shared device plugin serves, as NVIDIA's Network Operator installs it.

InfiniBand: the resource has the name that the plugin's configuration gives it: `rdma/ib` here, `rdma/shared_ib`
and `rdma/hca_shared_devices_a` elsewhere. Azure's ND machines also need the file of their topology in the
image: `environment={"NCCL_TOPO_FILE": PATH}`.

RDMA over Converged Ethernet, outside of GKE: `networks` names NetworkAttachmentDefinitions of Multus, one for
each card; without them pods see the host's cards through the plugin. Index 3 of a card's addresses is that of
RoCE v2 over IPv4 on the cards of NVIDIA; a site with others says so: `environment={"NCCL_IB_GID_INDEX": "5"}`.
"""

from dataclasses import replace
from typing import Final

from trainer_infra.catalog.fabrics.fabric import Fabric, FabricPreset
from trainer_infra.catalog.fabrics.pod_patch import PodPatch

_ENVIRONMENT: Final = {"NCCL_NET": "IB", "NCCL_IB_DISABLE": "0"}


def _infiniband(fabric: Fabric) -> PodPatch:
    # Memory that cards write to is locked.
    resources, capabilities = {fabric.resource: fabric.interfaces}, ("IPC_LOCK",)
    return PodPatch(resources=resources, env=_ENVIRONMENT, capabilities=capabilities)


def _roce(fabric: Fabric) -> PodPatch:
    networks = {"k8s.v1.cni.cncf.io/networks": ",".join(fabric.networks)}
    env = {**_ENVIRONMENT, "NCCL_IB_GID_INDEX": "3"}
    return replace(_infiniband(fabric), annotations=networks if fabric.networks else {}, env=env)


INFINIBAND: Final = FabricPreset(
    name="infiniband",
    title="InfiniBand",
    cloud=None,
    source="NVIDIA Network Operator: RDMA shared device plugin; AKS: RDMA over InfiniBand for HPC and AI",
    date="2026-10",
    proven="api",
    # A shared device plugin hands all cards to a pod that asks for one.
    interfaces=1,
    resource="rdma/ib",
    patch=_infiniband,
)
ROCE: Final = FabricPreset(
    name="roce",
    title="RDMA over Converged Ethernet",
    cloud=None,
    source="NVIDIA Network Operator: RDMA shared device plugin and secondary networks",
    date="2026-10",
    proven="api",
    interfaces=1,
    resource="rdma/hca_shared_devices_a",
    patch=_roce,
)
