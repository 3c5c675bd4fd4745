"""Where the jobs of a workspace wait for quota: queues of Kueue or of Volcano."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.platform.argument_problems import SHORT_NAME, shape_problems
from trainer_infra.platform.queues.kueue_queues import ClusterQueue, LocalQueue, PreemptionArgs
from trainer_infra.platform.queues.volcano_queue import VolcanoQueue
from trainer_infra.platform.workspaces.namespace import own_namespace
from trainer_infra.platform.workspaces.quota import flavor_amounts, quota_problems, total_amounts
from trainer_infra.platform.workspaces.workspace_args import EXAMPLES, WorkspaceArgs

KUEUE: Final = "kueue"
VOLCANO: Final = "volcano"
DEFAULT_QUEUE: Final = "default"
"""Kueue puts jobs that name no queue into the LocalQueue of this name (its defaulting of queues)."""
DEFAULT_FLAVOR: Final = "default-flavor"
_OF_KUEUE: Final = ("cohort", "preemption", "fair_sharing_weight", "flavor", "queue")

Queueing = Literal["kueue", "volcano", False]


def _queueing(args: WorkspaceArgs) -> Queueing:
    """What queues the jobs: Kueue, where the program has a quota and says nothing else."""
    return args.get("queueing", KUEUE if "quota" in args else False)


def declared_queue(
    name: str, namespace: str, args: WorkspaceArgs, opts: pulumi.ResourceOptions
) -> pulumi.Output[str] | None:
    """Declare a workspace's queues; the name of the one that jobs name, None where nothing queues."""
    queueing = _queueing(args)
    if not queueing:
        return None
    quota, pools = args["quota"], args.get("pools", ())
    if queueing == VOLCANO:
        amounts = total_amounts(quota, pools)
        return VolcanoQueue(name, name=namespace, capability=amounts, opts=opts).name
    queue = ClusterQueue(name, opts=opts, **_cluster_queue(namespace, args))
    local = args.get("queue", DEFAULT_QUEUE)
    return LocalQueue(name, name=local, namespace=namespace, cluster_queue=queue, opts=opts).name


def derived_hard_limits(args: WorkspaceArgs) -> Mapping[str, Any]:
    """The quota for a ResourceQuota, which holds it where no queue does."""
    if _queueing(args) or "quota" not in args:
        return {}
    total = total_amounts(args["quota"], args.get("pools", ()))
    return {f"requests.{resource}": amount for resource, amount in total.items()}


def queue_problems(args: WorkspaceArgs) -> Iterator[Problem]:
    """What is wrong with a quota and its queue; the rest the queues' own components find."""
    queueing, pools = _queueing(args), args.get("pools", ())
    if "quota" in args:
        yield from quota_problems(args["quota"], pools)
    elif queueing or "pools" in args:
        what = "is missing, and without one nothing is admitted"
        yield Problem("quota", what, fix=f"write {EXAMPLES['quota']}")
    yield from shape_problems(("queue",), args.get("queue", DEFAULT_QUEUE), SHORT_NAME)
    if queueing == KUEUE:
        fix = "leave queueing=False out of the pool, or give it to the workspace too"
        for each in (pool for pool in pools if pool.flavor_name is None):
            yield Problem("pools", f"has {each.name}, of which Kueue has no flavor", fix=fix)
        return
    for name in _OF_KUEUE:
        if name in args:
            yield Problem(name, "is for Kueue, which queues nothing here", fix="leave it out")


def unknown_flavors(args: WorkspaceArgs, flavors: Sequence[str]) -> Iterator[Problem]:
    """Flavors of the quota that the platform does not have."""
    pools, flavor = args.get("pools", ()), args.get("flavor", DEFAULT_FLAVOR)
    if _queueing(args) != KUEUE:
        return
    for each in flavor_amounts(args["quota"], pools, flavor):
        if each not in flavors:
            fix = f"use {' or '.join(flavors)}" if flavors else "add a pool to the platform"
            yield Problem("quota", "names a flavor that the platform does not have", each, fix)


def _cluster_queue(namespace: str, args: WorkspaceArgs) -> Any:
    pools, flavor = args.get("pools", ()), args.get("flavor", DEFAULT_FLAVOR)
    # A job of a higher priority goes first, and what others have borrowed comes back.
    preemption: PreemptionArgs = {"within_cluster_queue": "LowerPriority"}
    if "cohort" in args:
        preemption["reclaim_within_cohort"] = "Any"
    made: dict[str, Any] = {
        "name": namespace,
        "quota": flavor_amounts(args["quota"], pools, flavor),
        "namespace_selector": own_namespace(namespace),
        "preemption": args.get("preemption", preemption),
    }
    return made | {key: args[key] for key in ("cohort", "fair_sharing_weight") if key in args}
