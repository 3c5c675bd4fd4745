"""Quota of a ClusterQueue or a Cohort: how much of each flavor, as a program writes it and as Kueue has it.

A program names flavors in the order in which Kueue tries them. Kueue wants them in groups: the flavors
of a group cover the same resources, in the same order, and no resource is in two groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NotRequired, TypeAlias, TypedDict

import pulumi

from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.platform.argument_fields import Field, Fields, argument_path, at, put_fields
from trainer_infra.platform.argument_problems import is_plain, quantity_text
from trainer_infra.platform.queues.flavors import ResourceFlavor
from trainer_infra.platform.queues.queue_component import QueueComponent, name_of

_AMOUNTS: Final[Fields] = {
    "nominal": at("nominalQuota", quantity_text),
    "borrowing_limit": at("borrowingLimit", quantity_text),
    "lending_limit": at("lendingLimit", quantity_text),
}


class ResourceQuotaArgs(TypedDict):
    """How much of a resource there is, and how much of it may be lent and borrowed in the cohort."""

    nominal: pulumi.Input[float | str]
    """What belongs to the queue."""
    borrowing_limit: NotRequired[pulumi.Input[float | str]]
    """How much more it may use when others of its cohort do not; no limit unless given."""
    lending_limit: NotRequired[pulumi.Input[float | str]]
    """How much of its own others may use when it does not; all of it unless given."""


FlavorQuota: TypeAlias = Mapping[str, pulumi.Input[float | str] | ResourceQuotaArgs]
"""Quota by resource, for example `{"nvidia.com/gpu": 16, "memory": "2Ti"}`."""
Quota: TypeAlias = Mapping[Any, FlavorQuota]
"""Quota by flavor, its name or its component, in the order in which Kueue tries them."""


def resource_groups(quota: Mapping[Any, Any]) -> list[JSONDict] | None:
    """A quota as Kueue has it; None of an empty one.

    Raises:
        InvalidInput: A flavor's name is an Output, so the quota has no groups as yet.
    """
    if any(not is_plain(each) for each in quota):
        what = "must not have an Output as a flavor's name"
        fix = "give the name itself, or the ResourceFlavor"
        raise InvalidInput([Problem("quota", what, fix=fix)])
    return [
        {
            "coveredResources": list(resources),
            "flavors": [
                {
                    "name": name_of(flavor),
                    "resources": [
                        {"name": each, **_quota_fields(quota[flavor][each])} for each in resources
                    ],
                }
                for flavor in flavors
            ],
        }
        for resources, flavors in _groups(quota)
    ] or None


def _quota_path(path: Path, quota: Mapping[Any, Any]) -> Path:
    """Flavor, resource and limit at a path below the resource groups; empty for a group or all."""
    groups = list(_groups(quota))
    match path:
        case (int(group), "coveredResources", *places):
            resources, flavors = groups[group]
            return (name_of(flavors[0]), *(resources[int(each)] for each in places))
        case (int(group), "flavors", int(index), "resources", int(place), *field):
            resources, flavors = groups[group]
            flavor, resource = flavors[index], resources[place]
            value = quota[flavor][resource]
            has_limits = field and isinstance(value, Mapping)
            below = argument_path(tuple(field), value, _AMOUNTS) if has_limits else ()
            return (name_of(flavor), resource, *below)
        case (int(group), "flavors", int(index), *_):
            return (name_of(groups[group][1][index]),)
        case _:
            return ()


QUOTA: Final = Field(
    ("spec", "resourceGroups"), resource_groups, argument=_quota_path, named=_AMOUNTS
)
"""The argument `quota`."""


def quota_problems(quota: Mapping[Any, Any]) -> Iterator[Problem]:
    """What is wrong with a quota before it is in groups."""
    for flavor in quota:
        if isinstance(flavor, QueueComponent) and not isinstance(flavor, ResourceFlavor):
            what = "must be a ResourceFlavor, or the name of one"
            yield Problem(path_text(("quota", name_of(flavor))), what, type(flavor).__name__)
    owners: dict[str, str] = {}
    for resources, flavors in _groups(quota):
        first = name_of(flavors[0])
        for resource in (each for each in resources if each in owners):
            other = owners[resource]
            what = f"is covered by {other} too, which does not cover the same resources"
            fix = f"name the same resources for {other} and {first}, with 0 where it has none"
            yield Problem(path_text(("quota", first, resource)), what, fix=fix)
        owners |= dict.fromkeys(resources, first)


def _groups(quota: Mapping[Any, Any]) -> Iterator[tuple[Sequence[str], Sequence[Any]]]:
    """Resources, and the flavors that cover just these, in the order of the first of each."""
    groups: dict[frozenset[str], list[Any]] = {}
    for flavor, resources in quota.items():
        groups.setdefault(frozenset(resources), []).append(flavor)
    for flavors in groups.values():
        yield tuple(quota[flavors[0]]), flavors


def _quota_fields(value: Any) -> JSONDict:
    return put_fields({}, value if isinstance(value, Mapping) else {"nominal": value}, _AMOUNTS)
