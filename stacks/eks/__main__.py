"""EKS: the platform on a cluster that is there, and pools of P5 and G6 machines.

The cluster has EFA's device plugin, and a security group that lets all traffic of its own members in and
out. Configuration: `platform:cluster`, `platform:role`, `platform:subnet`, `platform:security_group`,
`platform:reservation`.
"""

import pulumi
import pulumi_aws as aws

from trainer_infra import platform
from trainer_infra.platform.pools.eks import EksPool
from trainer_infra.rules.node_pool import PoolSpec


def machines(pool: PoolSpec, args: EksPool) -> aws.eks.NodeGroup:
    made = aws.ec2.LaunchTemplate(pool.name, **args["launch_template"])
    template: aws.eks.NodeGroupLaunchTemplateArgsDict = {
        "id": made.id,
        "version": made.latest_version.apply(str),
    }
    return aws.eks.NodeGroup(pool.name, launch_template=template, **args["node_group"])


config = pulumi.Config("platform")
cluster, role = config.require("cluster"), config.require("role")
subnets, groups = [config.require("subnet")], [config.require("security_group")]
base = platform.TrainerPlatform("training", runtimes=False, default_flavor=None)
after = pulumi.ResourceOptions(depends_on=[base])

blocks = platform.GpuNodePool(
    "blocks", backend="eks", machine_type="p5.48xlarge", nodes={"min": 4, "max": 4}, fabric="efa",
    capacity_type="capacity-block", reservation=config.require("reservation"),
    eks={"cluster": cluster, "role": role, "subnets": subnets, "security_groups": groups},
    factory=machines, opts=after,
)  # fmt: skip
small = platform.GpuNodePool(
    "small", backend="eks", machine_type="g6.12xlarge", nodes={"max": 4}, capacity_type="spot",
    eks={"cluster": cluster, "role": role, "subnets": subnets}, factory=machines, opts=after,
)  # fmt: skip
platform.DeviceDriver("gpu", kind="device_plugin", cloud="aws")

pools = pulumi.ResourceOptions(depends_on=[base, blocks, small])
platform.RuntimeCatalog("runtimes", transform=blocks.spec.wired_runtime, opts=pools)
gpus = {"blocks": {"nvidia.com/gpu": 16}, "small": {"nvidia.com/gpu": 4}}
platform.Workspace("team", quota=gpus, pools=[blocks.spec, small.spec], opts=pools)
