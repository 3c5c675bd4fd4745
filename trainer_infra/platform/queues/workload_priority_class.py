"""WorkloadPriorityClass: which jobs go first in a queue."""

from collections.abc import Iterable
from typing import Any, Final, Required, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import LABEL_VALUE, NAME, ArgumentProblems
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent, given_fields

_DESCRIPTION: Final = {"maxLength": 2048}


class WorkloadPriorityClassArgs(QueueArgs, total=False):
    """Arguments of a priority."""

    value: Required[pulumi.Input[int]]
    """The priority; a higher one goes first. Nodes and their scheduler do not see it."""
    description: pulumi.Input[str]
    """When to use it; up to 2048 characters."""


class WorkloadPriorityClass(QueueComponent):
    """Kueue's WorkloadPriorityClass, which jobs name in their label `kueue.x-k8s.io/priority-class`."""

    _arguments = WorkloadPriorityClassArgs
    _name_shape = NAME | {"maxLength": LABEL_VALUE["maxLength"]}

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[WorkloadPriorityClassArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `WorkloadPriorityClassArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        problems.judge_number(("value",), args["value"])
        problems.judge_text(("description",), args.get("description", ""), _DESCRIPTION)

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        body = given_fields(args, value="value", description="description")
        yield self._object("WorkloadPriorityClass", args, **body)
