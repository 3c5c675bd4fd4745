"""Backend `aks`: a pool as the keyword arguments of `pulumi_azure_native.containerservice.AgentPool`.

The package is the program's dependency, not ours: the program's `factory` makes the resource. Who installs
the driver cannot change later: AKS does (`driver="managed"`), or the GPU Operator. What Azure says to such
arguments was not seen here.
"""

from collections.abc import Sequence
from typing import Any, Final, Required, TypedDict

import pulumi

from trainer_infra import names
from trainer_infra.platform.pools.pool_arguments import AksArgs
from trainer_infra.platform.pools.pool_spec import taint_text
from trainer_infra.rules.node_pool import PoolSpec

_DISK: Final = 200
OWN_DOMAIN: Final = "kubernetes.azure.com/"
"""AKS adds taints of this domain itself, and refuses them of anyone else."""


class AksAgentPool(TypedDict, total=False):
    """Keyword arguments of `pulumi_azure_native.containerservice.AgentPool`."""

    agent_pool_name: Required[str]
    availability_zones: Sequence[str]
    capacity_reservation_group_id: pulumi.Input[str]
    count: Required[int]
    enable_auto_scaling: Required[bool]
    gpu_profile: Required[Any]
    max_count: int
    min_count: int
    mode: Required[str]
    node_labels: Required[dict[str, pulumi.Input[str]]]
    node_taints: Required[Sequence[str]]
    os_disk_size_gb: Required[int]
    os_sku: Required[str]
    os_type: Required[str]
    resource_group_name: Required[pulumi.Input[str]]
    resource_name_: Required[pulumi.Input[str]]
    scale_set_eviction_policy: str
    scale_set_priority: str
    spot_max_price: float
    vm_size: Required[str]
    vnet_subnet_id: pulumi.Input[str]
    opts: pulumi.ResourceOptions


def aks_agent_pool(spec: PoolSpec, block: AksArgs) -> AksAgentPool:
    """The arguments of an agent pool."""
    made: AksAgentPool = {
        "agent_pool_name": spec.name,
        "resource_group_name": block["resource_group"],
        "resource_name_": block["cluster"],
        "mode": "User",
        "os_type": "Linux",
        "os_sku": block.get("os_sku", "Ubuntu"),
        "os_disk_size_gb": block.get("disk_gib", _DISK),
        "vm_size": spec.machine_type or "",
        "gpu_profile": {"driver": "Install" if spec.driver == "managed" else "None"},
        "node_labels": {**spec.own_labels, names.POOL_LABEL: spec.name},
        "node_taints": [
            taint_text(each) for each in spec.taints if not each["key"].startswith(OWN_DOMAIN)
        ],
        "count": spec.min_nodes,
        "enable_auto_scaling": not spec.is_static,
    }
    if not spec.is_static:
        made["min_count"], made["max_count"] = spec.min_nodes, spec.max_nodes
    if spec.zones:
        made["availability_zones"] = list(spec.zones)
    if "subnet" in block:
        made["vnet_subnet_id"] = block["subnet"]
    if "capacity_reservation_group" in block:
        made["capacity_reservation_group_id"] = block["capacity_reservation_group"]
    if spec.capacity_type == "spot":
        made["scale_set_priority"] = "Spot"
        made["scale_set_eviction_policy"] = "Delete"
        # Up to the price of a machine that is not spot.
        made["spot_max_price"] = -1
    return made
