"""How much a workspace may use: its quota by flavor, and the limits that the API server itself holds.

Kueue admits no job that asks for a resource which its queue does not cover. A quota of GPUs alone would so
admit nothing that asks for cores: of what a machine has beside its accelerators, and the program does not
name, the queue gets all that the pool has.

A queue's quota may be borrowed from and lent to a cohort, which a ResourceQuota of the same amounts would
forbid: where there is a queue, a ResourceQuota is made only when the program asks for one.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import pulumi

from trainer_infra.api.quantity import parse_quantity
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import quantity_problems
from trainer_infra.platform.workspaces.workspace_args import EXAMPLES, WorkspaceArgs
from trainer_infra.rules.node_pool import PoolSpec

NOMINAL: Final = "nominal"
_REQUESTS_WITHOUT: Final[Mapping[str, str]] = {"cpu": "1", "memory": "1Gi"}
"""What a container requests that says nothing, where a ResourceQuota would refuse its pod for that."""
_LIMITS: Final = frozenset({"default", "defaultRequest", "max", "min", "maxLimitRequestRatio"})
_OF_EVERY_MACHINE: Final = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
"""What a machine has though its pool may not know how much."""
_FLAT_FIX: Final = 'say which: quota={"POOL": {"RESOURCE": AMOUNT}}'
FlavorAmounts = Mapping[str, Mapping[str, Any]]
"""Amounts by flavor and resource, as a ClusterQueue takes them."""


def flavor_amounts(
    quota: Mapping[str, Any], pools: Sequence[PoolSpec], flavor: str
) -> FlavorAmounts:
    """The quota of a ClusterQueue by the flavors of its pools; without pools it is all of one flavor."""
    if not pools:
        return {flavor: dict(quota)}
    by_pool = _by_pool(quota, pools)
    covered = dict.fromkeys(
        resource for pool in pools for resource in (*by_pool[pool.name], *pool.quota)
    )
    # Of what the program does not name: no accelerators, all of anything else.
    beside = {pool.name: {**pool.quota, pool.resource: 0} for pool in pools}
    return {
        str(pool.flavor_name): {
            each: by_pool[pool.name].get(each, beside[pool.name].get(each, 0)) for each in covered
        }
        for pool in pools
    }


def total_amounts(quota: Mapping[str, Any], pools: Sequence[PoolSpec]) -> JSONDict:
    """The amounts that the program names, by resource, where there are no flavors."""
    if not pools or not _names_pools(quota, pools):
        return {resource: nominal_of(amount) for resource, amount in quota.items()}
    parts: dict[str, list[Any]] = {}
    for amounts in quota.values():
        for resource, amount in amounts.items():
            parts.setdefault(resource, []).append(nominal_of(amount))
    return {resource: _sum(each) for resource, each in parts.items()}


def quota_problems(quota: Mapping[str, Any], pools: Sequence[PoolSpec]) -> Iterator[Problem]:
    """What is wrong with a quota and its pools; limits of borrowing the ClusterQueue judges itself."""
    if not quota:
        yield Problem("quota", "has no amounts", fix=f"write {EXAMPLES['quota']}")
        return
    if not pools or not _names_pools(quota, pools):
        yield from _flat_problems(quota, pools)
        return
    for pool in pools:
        for resource, amount in quota.get(pool.name, {}).items():
            yield from _amount_problems(f"quota.{pool.name}.{resource}", amount, pool, resource)
        if pool.name not in quota:
            fix = f"write {{{pool.name!r}: {{...}}}}"
            yield Problem(f"quota.{pool.name}", "is missing", fix=fix)
    for name in quota.keys() - {each.name for each in pools}:
        known = ", ".join(each.name for each in pools)
        yield Problem(f"quota.{name}", "is not one of the pools", fix=f"write {known}")


def nominal_of(amount: Any) -> Any:
    """The amount itself where its limits of borrowing are said too."""
    return amount.get(NOMINAL, 0) if isinstance(amount, Mapping) else amount


def _names_pools(quota: Mapping[str, Any], pools: Sequence[PoolSpec]) -> bool:
    """Whether it is by pool: then each value has resources, and no amount of its own."""
    names = {each.name for each in pools}
    by_pool = (isinstance(each, Mapping) and NOMINAL not in each for each in quota.values())
    return not names.isdisjoint(quota) or all(by_pool)


def _by_pool(quota: Mapping[str, Any], pools: Sequence[PoolSpec]) -> Mapping[str, Any]:
    if _names_pools(quota, pools):
        return {each.name: quota.get(each.name, {}) for each in pools}
    return {
        pool.name: {
            resource: amount
            for resource, amount in quota.items()
            if pool is _only_pool(resource, pools)
        }
        for pool in pools
    }


def _only_pool(resource: str, pools: Sequence[PoolSpec]) -> PoolSpec | None:
    """The pool that a resource of a flat quota is about; None where it may be several."""
    if len(pools) == 1:
        return pools[0]
    having = [each for each in pools if resource in each.capacity]
    return having[0] if len(having) == 1 and resource not in _OF_EVERY_MACHINE else None


def _flat_problems(quota: Mapping[str, Any], pools: Sequence[PoolSpec]) -> Iterator[Problem]:
    for resource, amount in quota.items():
        path = f"quota.{resource}"
        pool = _only_pool(resource, pools) if pools else None
        if pools and pool is None:
            what = f"may be of any of the pools {', '.join(each.name for each in pools)}"
            yield Problem(path, what, got=nominal_of(amount), fix=_FLAT_FIX)
        else:
            yield from _amount_problems(path, amount, pool, resource)


def _amount_problems(
    path: str, amount: object, pool: PoolSpec | None, resource: str
) -> Iterator[Problem]:
    nominal = nominal_of(amount)
    problems = list(quantity_problems(path, nominal))
    yield from problems
    if problems or pool is None or isinstance(nominal, pulumi.Output):
        return
    most = pool.quota.get(resource)
    if most is None:
        if resource not in _OF_EVERY_MACHINE:
            what = f"is not a resource of the pool {pool.name}"
            yield Problem(path, what, fix=f"it has {', '.join(pool.quota)}")
    elif parse_quantity(nominal) > parse_quantity(most):
        what = f"is more than the pool {pool.name} has with all of its {pool.max_nodes} machines"
        yield Problem(path, what, got=nominal, fix=f"write at most {most}, or let the pool grow")


def _sum(parts: Sequence[Any]) -> Any:
    """An exact text of several: a quantity's amount has no exponent that Kubernetes does not read."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(each, pulumi.Output) for each in parts):
        return pulumi.Output.all(*parts).apply(_sum)
    return format(sum(map(parse_quantity, parts), Decimal()).normalize(), "f")


def resource_quota_objects(
    namespace: str, hard: Mapping[str, Any], limits: Mapping[str, Any] | None
) -> Iterator[JSONObject]:
    """A ResourceQuota of `hard` limits, where there are some, and a LimitRange for containers.

    Where the program gives no `limits` of containers, there is a LimitRange only if the quota makes one
    needed: a pod that says nothing of a resource that a ResourceQuota counts is refused.
    """
    made = {"apiVersion": "v1", "metadata": {"name": "trainer-infra", "namespace": namespace}}
    if hard:
        yield {**made, "kind": "ResourceQuota", "spec": {"hard": dict(hard)}}
    if limits is None:
        wanted = {key: each for key, each in _REQUESTS_WITHOUT.items() if f"requests.{key}" in hard}
        limits = {"defaultRequest": wanted} if wanted else {}
    if limits:
        spec = {"limits": [{"type": "Container", **limits}]}
        yield {**made, "kind": "LimitRange", "spec": spec}


def limit_problems(args: WorkspaceArgs) -> Iterator[Problem]:
    """What is wrong with the limits of the namespace and of containers."""
    for name, amount in args.get("resource_quota", {}).items():
        yield from quantity_problems(f"resource_quota.{name}", amount)
    for field, amounts in args.get("limit_range", {}).items():
        path = f"limit_range.{field}"
        if field not in _LIMITS:
            known = ", ".join(sorted(_LIMITS))
            yield Problem(path, "is not a field of a LimitRange", fix=f"use {known}")
        for name, amount in amounts.items():
            yield from quantity_problems(f"{path}.{name}", amount)
