"""WorkloadPriorityClass: which jobs go first in a queue."""

from collections.abc import Iterable
from typing import Any, ClassVar, Required, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.argument_problems import shape_problems
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.queue_component import LABEL_NAME, QueueArgs, QueueComponent


class WorkloadPriorityClassArgs(QueueArgs, total=False):
    """Arguments of a priority."""

    value: Required[pulumi.Input[int]]
    """The priority; a higher one goes first. Nodes and their scheduler do not see it."""
    description: pulumi.Input[str]
    """When to use it; up to 2048 characters."""


class WorkloadPriorityClass(QueueComponent):
    """Kueue's WorkloadPriorityClass, which jobs name in their label `kueue.x-k8s.io/priority-class`."""

    _arguments = WorkloadPriorityClassArgs
    kind = "WorkloadPriorityClass"
    fields: ClassVar[Fields] = {"value": at("value"), "description": at("description")}

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[WorkloadPriorityClassArgs]
    ) -> None:
        """Declare it; what to give is in `WorkloadPriorityClassArgs`."""
        super().__init__(resource_name, args, opts)

    @override
    def _problems(self, args: Any) -> Iterable[Problem]:
        return shape_problems(("name",), self.object_name, LABEL_NAME)

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        yield self._object(self.kind, args, self.fields)
