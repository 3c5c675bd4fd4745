"""Quota of a ClusterQueue or a Cohort: how much of each flavor, as a program writes it and as Kueue has it.

A program names flavors in the order in which Kueue tries them. Kueue wants them in groups: the flavors
of a group cover the same resources, in the same order, and no resource is in two groups. These are the
rules of its CRDs and of `validateResourceGroups` in its webhooks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NotRequired, TypeAlias, TypedDict

import pulumi

from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONDict
from trainer_infra.platform.argument_problems import (
    LABEL_KEY,
    ArgumentProblems,
    is_plain,
    quantity_text,
)
from trainer_infra.platform.queues.queue_component import judge_reference, name_of
from trainer_infra.platform.queues.resource_flavor import ResourceFlavor

MOST_FLAVORS: Final = 64
"""Flavors of a group, and resources of a flavor."""
_MOST_GROUPS: Final = 16
_MOST_IN_ALL: Final = 256
"""Flavors, and resources, of all groups together."""
_MOST_PAIRS: Final = 512
"""Quotas of a group: flavors times resources."""
_FIELDS: Final = {
    "nominal": "nominalQuota",
    "borrowing_limit": "borrowingLimit",
    "lending_limit": "lendingLimit",
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


@dataclass(frozen=True, slots=True)
class QuotaRules:
    """What differs between the kinds that have a quota."""

    parent: str
    """The argument that names the cohort above."""
    has_parent: bool
    is_of_queue: bool
    """Whether it is a ClusterQueue's: these lend at most what they have, and have an end in all."""


def flavor_names(quota: Any) -> tuple[str, ...]:
    """The flavors of a quota, in order."""
    return tuple(name_of(each) for each in quota)


def resource_groups(quota: Mapping[Any, Any]) -> list[JSONDict]:
    """A quota without problems, as Kueue has it."""
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
    ]


def judge_quota(problems: ArgumentProblems, quota: object, rules: QuotaRules) -> None:
    """Find what Kueue would refuse of a quota."""
    at: Path = ("quota",)
    flavors = problems.plain_mapping(at, quota, _MOST_GROUPS * MOST_FLAVORS)
    if any(not is_plain(each) for each in flavors):
        fix = "give the name itself, or the ResourceFlavor"
        problems.add(at, "must not have an Output as a flavor's name", fix=fix)
        return
    sound = True
    for flavor, resources in flavors.items():
        here = (*at, name_of(flavor))
        judge_reference(problems, here, flavor, ResourceFlavor)
        found = problems.plain_mapping(here, resources, MOST_FLAVORS, least=1)
        sound = sound and bool(found)
        for resource, value in found.items():
            problems.judge_text((*here, resource), resource, LABEL_KEY)
            _judge_resource(problems, (*here, resource), value, rules)
    problems.judge_unique(at, flavor_names(flavors))
    if sound:
        _judge_groups(problems, at, flavors)
    if sound and rules.is_of_queue:
        _judge_sums(problems, at, flavors)


def _judge_resource(problems: ArgumentProblems, at: Path, value: object, rules: QuotaRules) -> None:
    if not isinstance(value, Mapping):
        problems.judge_quantity(at, value)
        return
    fields = problems.plain_fields(at, value, tuple(_FIELDS), needed=("nominal",))
    amounts = {
        each: problems.judge_quantity((*at, each), fields[each])
        for each in _FIELDS
        if each in fields
    }
    for limit in ("borrowing_limit", "lending_limit"):
        if limit in fields and not rules.has_parent:
            problems.add((*at, limit), f"has no meaning without {rules.parent}", fields[limit])
    lent, own = amounts.get("lending_limit"), amounts.get("nominal")
    if rules.is_of_queue and lent is not None and own is not None and lent > own:
        problems.add((*at, "lending_limit"), "must be at most nominal", fields["lending_limit"])


def _judge_groups(problems: ArgumentProblems, at: Path, quota: Mapping[Any, Any]) -> None:
    groups = list(_groups(quota))
    if len(groups) > _MOST_GROUPS:
        problems.add(at, f"must have at most {_MOST_GROUPS} sets of resources", len(groups))
    owner: dict[str, str] = {}
    for resources, flavors in groups:
        first = name_of(flavors[0])
        if shared := [each for each in resources if each in owner]:
            other = owner[shared[0]]
            problems.add(
                (*at, first),
                f"covers {shared[0]} as {other} does, but not the same resources",
                fix=f"name the same resources for {other} and {first}, with 0 where there is none",
            )
        if len(flavors) > MOST_FLAVORS:
            what = f"must have at most {MOST_FLAVORS} flavors of the same resources"
            problems.add(at, what, len(flavors))
        owner |= dict.fromkeys(resources, first)


def _judge_sums(problems: ArgumentProblems, at: Path, quota: Mapping[Any, Any]) -> None:
    """Of a ClusterQueue's quota: `validateTotalFlavors` and what follows it."""
    groups = list(_groups(quota))
    sums = (
        ("flavors", len(quota), _MOST_IN_ALL),
        ("resources", sum(len(resources) for resources, _ in groups), _MOST_IN_ALL),
        *(
            ("quotas of the same resources", len(resources) * len(flavors), _MOST_PAIRS)
            for resources, flavors in groups
        ),
    )
    for what, count, most in sums:
        if count > most:
            problems.add(at, f"must have at most {most} {what}", count)


def _groups(quota: Mapping[Any, Any]) -> Iterator[tuple[Sequence[str], Sequence[Any]]]:
    """Resources, and the flavors that cover just these, in the order of the first of each."""
    groups: dict[frozenset[str], list[Any]] = {}
    for flavor, resources in quota.items():
        groups.setdefault(frozenset(resources), []).append(flavor)
    for flavors in groups.values():
        yield tuple(quota[flavors[0]]), flavors


def _quota_fields(value: Any) -> JSONDict:
    if not isinstance(value, Mapping):
        return {"nominalQuota": quantity_text(value)}
    return {wire: quantity_text(value[key]) for key, wire in _FIELDS.items() if key in value}
