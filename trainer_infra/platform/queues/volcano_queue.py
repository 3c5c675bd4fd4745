"""VolcanoQueue: a part of the cluster, where Volcano schedules."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import (
    LABEL_KEY,
    ArgumentProblems,
    quantity_text,
)
from trainer_infra.platform.queues.queue_component import (
    QueueArgs,
    QueueComponent,
    given_fields,
    judge_reference,
    name_of,
)

VOLCANO: Final = "scheduling.volcano.sh/v1beta1"
_OF_VOLCANO: Final = ("default", "root")
"""Queues that Volcano makes by itself; it refuses to delete the first."""
_AMOUNTS: Final = ("capability", "deserved", "guarantee")
_MOST_RESOURCES: Final = 256


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

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[VolcanoQueueArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `VolcanoQueueArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        return (args.get("parent"),)

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        if self.object_name in _OF_VOLCANO:
            fix = "choose another name"
            problems.add(("name",), "is that of a queue which Volcano makes", self.object_name, fix)
        if "parent" in args:
            judge_reference(problems, ("parent",), args["parent"], VolcanoQueue)
        if "weight" in args:
            problems.judge_number(("weight",), args["weight"], least=1)
        if "priority" in args:
            problems.judge_number(("priority",), args["priority"])
        amounts = {each: _judge_amounts(problems, each, args.get(each, {})) for each in _AMOUNTS}
        for lower, upper in (
            ("guarantee", "deserved"),
            ("deserved", "capability"),
            ("guarantee", "capability"),
        ):
            for resource in amounts[lower].keys() & amounts[upper].keys():
                if amounts[lower][resource] > amounts[upper][resource]:
                    problems.add(
                        (lower, resource), f"must be at most {upper}", args[lower][resource]
                    )

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        spec: JSONDict = given_fields(
            args, weight="weight", reclaimable="reclaimable", priority="priority"
        )
        if "parent" in args:
            spec["parent"] = name_of(args["parent"])
        for each in ("capability", "deserved"):
            if each in args:
                spec[each] = _texts(args[each])
        if "guarantee" in args:
            spec["guarantee"] = {"resource": _texts(args["guarantee"])}
        yield {**self._object("Queue", args, spec=spec), "apiVersion": VOLCANO}


def _judge_amounts(problems: ArgumentProblems, argument: str, amounts: object) -> dict[str, Any]:
    """The amounts that are known."""
    found = {}
    for resource, value in problems.plain_mapping((argument,), amounts, _MOST_RESOURCES).items():
        problems.judge_text((argument, resource), resource, LABEL_KEY)
        amount = problems.judge_quantity((argument, resource), value)
        if amount is not None:
            found[resource] = amount
    return found


def _texts(amounts: Mapping[str, Any]) -> JSONDict:
    return {resource: quantity_text(each) for resource, each in amounts.items()}
