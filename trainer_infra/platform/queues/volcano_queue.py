"""VolcanoQueue: a part of the cluster, where Volcano schedules."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, ClassVar, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.api.finding import path_text
from trainer_infra.api.shape.object_meta import LABEL_KEY, LABELS
from trainer_infra.errors import Problem
from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.argument_problems import (
    INTEGER,
    NAME,
    known_amount,
    quantity_problems,
    quantity_texts,
    shape_problems,
)
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent, name_of

_OF_VOLCANO: Final = ("default", "root")
"""Queues that Volcano makes by itself; it refuses to delete the first."""
_AMOUNTS: Final = ("guarantee", "deserved", "capability")
"""None of them is more than a later one."""
_RESOURCES: Final = {
    "type": "object",
    "propertyNames": LABEL_KEY,
    "x-kubernetes-preserve-unknown-fields": True,
}
_SHAPES: Final = {
    "name": NAME,
    "labels": LABELS,
    "parent": NAME,
    "weight": INTEGER | {"minimum": 1},
    "priority": INTEGER,
    **dict.fromkeys(_AMOUNTS, _RESOURCES),
}
"""Of arguments whose kind has no published schema here."""


class VolcanoQueueArgs(QueueArgs, total=False):
    """Arguments of a queue of Volcano."""

    weight: pulumi.Input[int]
    """Its part when queues compete; 1 unless given."""
    capability: Mapping[str, pulumi.Input[float | str]]
    """What its jobs may use at most, by resource."""
    deserved: Mapping[str, pulumi.Input[float | str]]
    """What it gets back from others when it needs it, where Volcano's plugin `capacity` is on."""
    guarantee: Mapping[str, pulumi.Input[float | str]]
    """What others never use."""
    reclaimable: pulumi.Input[bool]
    """Whether others get back what it uses over its part; true unless given."""
    parent: "pulumi.Input[str] | VolcanoQueue"
    """The queue that it is a part of."""
    priority: pulumi.Input[int]
    """Queues of a higher one go first."""


class VolcanoQueue(QueueComponent):
    """Volcano's Queue."""

    _arguments = VolcanoQueueArgs
    api_version = "scheduling.volcano.sh/v1beta1"
    kind = "Queue"
    fields: ClassVar[Fields] = {
        "parent": at("spec.parent", name_of),
        "weight": at("spec.weight"),
        "reclaimable": at("spec.reclaimable"),
        "priority": at("spec.priority"),
        "capability": at("spec.capability", quantity_texts),
        "deserved": at("spec.deserved", quantity_texts),
        "guarantee": at("spec.guarantee.resource", quantity_texts),
    }

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[VolcanoQueueArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)

    @override
    def _problems(self, args: Any) -> Iterator[Problem]:
        if self.object_name in _OF_VOLCANO:
            what, fix = "is that of a queue which Volcano makes", "choose another name"
            yield Problem("name", what, self.object_name, fix)
        named = {**args, "name": self.object_name, "parent": name_of(args.get("parent"))}
        for argument, shape in _SHAPES.items():
            if named.get(argument) is not None:
                yield from shape_problems((argument,), named[argument], shape)
        yield from _amount_problems(args)


def _amount_problems(args: Any) -> Iterator[Problem]:
    for argument in _AMOUNTS:
        for resource, amount in args.get(argument, {}).items():
            yield from quantity_problems(path_text((argument, resource)), amount)
    for lower, upper in combinations(_AMOUNTS, 2):
        for resource, amount in args.get(lower, {}).items():
            least, most = map(known_amount, (amount, args.get(upper, {}).get(resource)))
            if least is not None and most is not None and least > most:
                path = path_text((lower, resource))
                yield Problem(path, f"must be at most {upper}", amount)
