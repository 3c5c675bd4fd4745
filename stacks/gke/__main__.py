"""GKE: the platform on a cluster that is there, and pools of A3 Mega and G2 machines.

The cluster has GKE Dataplane V2 and multiple networks, the eight networks of the machines, and the
DaemonSets of GPUDirect-TCPXO. Configuration: `platform:cluster`, `platform:location`, `platform:zone`,
`platform:reservation`, `platform:networks`, a list of `{network, subnetwork}`.
"""

import pulumi
import pulumi_gcp as gcp

from trainer_infra import platform
from trainer_infra.platform.pools.gke import GkeNodePool
from trainer_infra.rules.node_pool import PoolSpec


def machines(pool: PoolSpec, args: GkeNodePool) -> gcp.container.NodePool:
    return gcp.container.NodePool(pool.name, **args)


config = pulumi.Config("platform")
cluster, location = config.require("cluster"), config.require("location")
base = platform.TrainerPlatform("training", runtimes=False, default_flavor=None)
after = pulumi.ResourceOptions(depends_on=[base])

mega = platform.GpuNodePool(
    "mega", backend="gke", machine_type="a3-megagpu-8g", nodes={"min": 2, "max": 16}, fabric="tcpxo",
    capacity_type="reserved", reservation=config.require("reservation"), zones=[config.require("zone")],
    gke={"cluster": cluster, "location": location, "networks": config.require_object("networks")},
    factory=machines, opts=after,
)  # fmt: skip
small = platform.GpuNodePool(
    "small", backend="gke", machine_type="g2-standard-48", nodes={"max": 4}, capacity_type="spot",
    gke={"cluster": cluster, "location": location}, factory=machines, opts=after,
)  # fmt: skip

pools = pulumi.ResourceOptions(depends_on=[base, mega, small])
platform.RuntimeCatalog("runtimes", transform=mega.spec.wired_runtime, opts=pools)
gpus = {"mega": {"nvidia.com/gpu": 16}, "small": {"nvidia.com/gpu": 4}}
platform.Workspace("team", quota=gpus, pools=[mega.spec, small.spec], opts=pools)
