"""Machines with accelerators, from one declaration."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Unpack

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.component import Options, PlatformComponent, without_none
from trainer_infra.platform.drivers.cluster_drivers import PoolClaim, claim_pool
from trainer_infra.platform.manifests.object_resources import Resources
from trainer_infra.platform.pools.aks import aks_agent_pool
from trainer_infra.platform.pools.checks import judged_declaration
from trainer_infra.platform.pools.cluster_api import cluster_api_objects
from trainer_infra.platform.pools.declaration import Declaration
from trainer_infra.platform.pools.eks import eks_pool
from trainer_infra.platform.pools.gke import gke_node_pool
from trainer_infra.platform.pools.gke_compute_class import compute_class_objects
from trainer_infra.platform.pools.karpenter import karpenter_objects
from trainer_infra.platform.pools.pool_arguments import GpuNodePoolArgs
from trainer_infra.platform.pools.pool_spec import admission_arguments, flavor_arguments, spec_of
from trainer_infra.platform.queues.flavors import ResourceFlavor, Topology
from trainer_infra.platform.queues.provisioning_admission import ProvisioningAdmission
from trainer_infra.rules.node_pool import PoolSpec

_FACTORIES: Final[Mapping[str, Callable[[PoolSpec, Any], Any]]] = {
    "aks": aks_agent_pool,
    "eks": eks_pool,
    "gke": gke_node_pool,
}
"""The keyword arguments of a cloud's own resources."""
_COUNTS: Final = {
    "aks": ["count"],
    "eks": ["scalingConfig.desiredSize"],
    "gke": ["initialNodeCount", "nodeCount"],
}
"""What the autoscaler changes, so that a later `pulumi up` leaves it."""
_OBJECTS: Final[Mapping[str, Callable[[Declaration, PoolSpec], tuple[JSONObject, ...]]]] = {
    "cluster_api": cluster_api_objects,
    "gke_compute_class": compute_class_objects,
    "karpenter": karpenter_objects,
}
"""What a backend makes of objects of Kubernetes."""


class GpuNodePool(PlatformComponent):
    """Machines of one kind, with all that follows from them.

    Its name is that of its flavor and topology too, and of what its backend makes.
    """

    spec: PoolSpec
    """What it comes to: what queues, workspaces and runtimes take."""
    flavor: ResourceFlavor | None
    """Kueue's ResourceFlavor; None with `queueing=False`."""
    topology: Topology | None
    """Kueue's Topology; None where jobs are not placed by one."""
    admission: ProvisioningAdmission | None
    """Kueue's check that asks for a job's machines; None without `provisioning_class`. A ClusterQueue
    takes it: `admission_checks=[{"check": pool.admission, "on_flavors": [pool.flavor]}]`."""
    machines: tuple[pulumi.Resource, ...]
    """What the factory made; empty of a backend without one."""

    _arguments = GpuNodePoolArgs

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[GpuNodePoolArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
        args = without_none(args)
        with self.sentences():
            declared = judged_declaration(resource_name, args)
            driver = args.get("driver", "managed")
            claim_pool(self, PoolClaim(resource_name, declared.backend, driver))
        self.spec = spec_of(declared)
        self.resources = self._backend_objects(declared)
        self.machines = self._machine_resources(declared)
        self._declare_queueing()
        self.register_outputs({
            "flavorName": self.spec.flavor_name,
            "topologyName": self.spec.topology_name,
            "resource": self.spec.resource,
            "quota": dict(self.spec.quota),
            "pool": self.spec.as_policy_pool().to_wire(),
        })  # fmt: skip

    def _backend_objects(self, declared: Declaration) -> Resources:
        if declared.backend not in _OBJECTS:
            return {}
        objects = _OBJECTS[declared.backend](declared, self.spec)
        management = declared.block("cluster_api").get("management")
        elsewhere = pulumi.ResourceOptions(provider=management) if management else None
        return self._declare_objects(objects, elsewhere)

    def _machine_resources(self, declared: Declaration) -> tuple[pulumi.Resource, ...]:
        if declared.backend not in _FACTORIES:
            return ()
        ignored = [] if declared.is_static else _COUNTS[declared.backend]
        mine = pulumi.ResourceOptions(parent=self, ignore_changes=ignored)
        block = declared.block(declared.backend)
        arguments = _FACTORIES[declared.backend](self.spec, block)
        if declared.backend == "eks":
            parts = {key: {**each, "opts": mine} for key, each in arguments.items()}
            parts["launch_template"]["opts"] = pulumi.ResourceOptions(parent=self)
            made = declared.args["factory"](self.spec, parts)
        else:
            made = declared.args["factory"](self.spec, {**arguments, "opts": mine})
        return (made,) if isinstance(made, pulumi.Resource) else tuple(made)

    def _declare_queueing(self) -> None:
        self.topology = self.flavor = self.admission = None
        mine = pulumi.ResourceOptions(parent=self)
        if self.spec.topology_name:
            levels = list(self.spec.topology)
            self.topology = Topology(self.spec.topology_name, levels=levels, opts=mine)
        if self.spec.flavor_name:
            flavor = flavor_arguments(self.spec, self.topology)
            self.flavor = ResourceFlavor(self.spec.flavor_name, opts=mine, **flavor)
        if self.spec.provisioning_class:
            admission = admission_arguments(self.spec, self.spec.provisioning_class)
            self.admission = ProvisioningAdmission(self.spec.name, opts=mine, **admission)


def pool_quota(
    *pools: GpuNodePool | tuple[GpuNodePool, int],
) -> Mapping[ResourceFlavor, Mapping[str, str]]:
    """What `quota=` of a ClusterQueue or a Cohort takes, in the order in which Kueue tries the pools.

    A flavor of a ClusterQueue says an amount of every resource that its other flavors have: it is 0 of
    what a pool's machines do not have.

    Args:
        pools: a pool, which is all of its machines, or a pool and how many of them.

    Raises:
        pulumi.RunError: More machines than a pool has, fewer than none, or a pool without a flavor.
    """
    parts = [each if isinstance(each, tuple) else (each, each.spec.max_nodes) for each in pools]
    if problems := [found for each in parts if (found := _count_problem(*each)) is not None]:
        raise pulumi.RunError("\n".join(map(str, problems)))
    resources = list(dict.fromkeys(name for pool, _ in parts for name in pool.spec.capacity))
    return {
        pool.flavor: {name: pool.spec.quota_of(nodes).get(name, "0") for name in resources}
        for pool, nodes in parts
        if pool.flavor is not None
    }


def _count_problem(pool: GpuNodePool, nodes: int) -> Problem | None:
    where, most = f"pool {pool.spec.name}", pool.spec.max_nodes
    if pool.flavor is None:
        return Problem("quota", "has no flavor: queueing is False", where=where)
    if not 0 <= nodes <= most:
        return Problem("quota", f"must be 0 to {most} machines, which it has", nodes, where=where)
    return None
