"""AKS: Trainer, JobSet and Kueue on a cluster that is there, and pools of ND and NC machines.

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
jobset = platform.JobSetController("jobset")
trainer = platform.TrainerControlPlane("trainer", opts=pulumi.ResourceOptions(depends_on=[jobset]))
kueue = platform.Kueue("kueue", opts=pulumi.ResourceOptions(depends_on=[trainer]))
after = pulumi.ResourceOptions(depends_on=[kueue])

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
driver = platform.DeviceDriver("gpu", kind="device_plugin", cloud="azure")

queue = platform.ClusterQueue("training", quota=platform.pool_quota(h100, small))
platform.LocalQueue("team", namespace="default", cluster_queue=queue)
