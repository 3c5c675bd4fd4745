"""Quota of a ClusterQueue, counted in machines of pools."""

from collections.abc import Mapping

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.platform.pools.gpu_node_pool import GpuNodePool
from trainer_infra.platform.queues.resource_flavor import ResourceFlavor


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
    problems = [found for pool, nodes in parts if (found := _problem(pool, nodes)) is not None]
    if problems:
        raise pulumi.RunError("\n".join(map(str, problems)))
    resources = list(dict.fromkeys(name for pool, _ in parts for name in pool.spec.capacity))
    return {
        pool.flavor: {name: pool.spec.quota_of(nodes).get(name, "0") for name in resources}
        for pool, nodes in parts
        if pool.flavor is not None
    }


def _problem(pool: GpuNodePool, nodes: int) -> Problem | None:
    where, most = f"pool {pool.spec.name}", pool.spec.max_nodes
    if pool.flavor is None:
        return Problem("quota", "has no flavor: queueing is False", where=where)
    if not 0 <= nodes <= most:
        return Problem("quota", f"must be 0 to {most} machines, which it has", nodes, where=where)
    return None
