"""Limits of a namespace that the API server itself holds, beside or in place of a queue's quota.

A queue's quota may be borrowed from and lent to a cohort, which a ResourceQuota of the same amounts would
forbid: where there is a queue, a ResourceQuota is made only when the program asks for one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import quantity_problems

_NAME: Final = "trainer-infra"
_REQUESTED: Final = "requests."
_REQUESTS_WITHOUT: Final[Mapping[str, str]] = {"cpu": "1", "memory": "1Gi"}
"""What a container requests that says nothing, where a ResourceQuota would refuse its pod for that."""
_LIMITS: Final = frozenset({"default", "defaultRequest", "max", "min", "maxLimitRequestRatio"})


def resource_quota_objects(
    namespace: str, hard: Mapping[str, Any], limits: Mapping[str, Any] | None
) -> Iterator[JSONObject]:
    """A ResourceQuota, and a LimitRange where one is given or the quota makes one needed.

    Args:
        namespace: the workspace's.
        hard: as a ResourceQuota has them, for example `requests.nvidia.com/gpu`; empty for none.
        limits: of containers, as a LimitRange has them; None where the program gives none.
    """
    metadata = {"name": _NAME, "namespace": namespace}
    if hard:
        yield _object("ResourceQuota", metadata, {"hard": dict(hard)})
    item = limits if limits is not None else _needed_limits(hard)
    if item:
        yield _object("LimitRange", metadata, {"limits": [{"type": "Container", **item}]})


def requested_amounts(quota: Mapping[str, Any]) -> JSONObject:
    """A quota of resources as what a ResourceQuota counts."""
    return {f"{_REQUESTED}{resource}": amount for resource, amount in quota.items()}


def resource_quota_problems(hard: Mapping[str, object]) -> Iterator[Problem]:
    """What is wrong with the limits of a namespace."""
    for name, amount in hard.items():
        yield from quantity_problems(f"resource_quota.{name}", amount)


def limit_range_problems(limits: Mapping[str, Mapping[str, object]]) -> Iterator[Problem]:
    """What is wrong with the limits of containers."""
    for field, amounts in limits.items():
        path = f"limit_range.{field}"
        if field not in _LIMITS:
            known = ", ".join(sorted(_LIMITS))
            yield Problem(path, "is not a field of a LimitRange", fix=f"use {known}")
        for name, amount in amounts.items():
            yield from quantity_problems(f"{path}.{name}", amount)


def _needed_limits(hard: Mapping[str, Any]) -> JSONObject:
    """A pod that says nothing of a resource that a ResourceQuota counts is refused."""
    wanted = {
        resource: amount
        for resource, amount in _REQUESTS_WITHOUT.items()
        if f"{_REQUESTED}{resource}" in hard
    }
    return {"defaultRequest": wanted} if wanted else {}


def _object(kind: str, metadata: JSONObject, spec: JSONObject) -> JSONObject:
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}
