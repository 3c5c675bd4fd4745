"""AKS: the platform on a cluster that is there, and pools of ND and NC machines.

The cluster has the feature AKSInfinibandSupport and NVIDIA's Network Operator, which serves `rdma/ib`.
Configuration: `platform:cluster`, `platform:resource_group`, `platform:subnet`.
"""

import pulumi
import pulumi_azure_native as azure

from trainer_infra import platform
from trainer_infra.platform.pools.aks import AksAgentPool
from trainer_infra.rules.node_pool import PoolSpec


def machines(pool: PoolSpec, args: AksAgentPool) -> azure.containerservice.AgentPool:
    return azure.containerservice.AgentPool(pool.name, **args)


config = pulumi.Config("platform")
cluster, group = config.require("cluster"), config.require("resource_group")
base = platform.TrainerPlatform("training", runtimes=False, default_flavor=None)
after = pulumi.ResourceOptions(depends_on=[base])

h100 = platform.GpuNodePool(
    "h100", backend="aks", machine_type="Standard_ND96isr_H100_v5", nodes={"min": 2, "max": 8},
    fabric={"preset": "infiniband", "environment": {"NCCL_TOPO_FILE": "/opt/nccl/ndv5-topo.xml"}},
    aks={"cluster": cluster, "resource_group": group, "subnet": config.require("subnet")},
    factory=machines, opts=after,
)  # fmt: skip
small = platform.GpuNodePool(
    "small", backend="aks", machine_type="Standard_NC24ads_A100_v4", nodes={"max": 4},
    capacity_type="spot", aks={"cluster": cluster, "resource_group": group},
    factory=machines, opts=after,
)  # fmt: skip
platform.DeviceDriver("gpu", kind="device_plugin", cloud="azure")

pools = pulumi.ResourceOptions(depends_on=[base, h100, small])
platform.RuntimeCatalog("runtimes", transform=h100.spec.wired_runtime, opts=pools)
gpus = {"h100": {"nvidia.com/gpu": 16}, "small": {"nvidia.com/gpu": 4}}
platform.Workspace("team", quota=gpus, pools=[h100.spec, small.spec], opts=pools)
