"""LocalQueue: where the jobs of a namespace wait."""

from collections.abc import Iterable
from typing import Any, Required, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import (
    LABEL_VALUE,
    NAME,
    SHORT_NAME,
    ArgumentProblems,
    quantity_text,
)
from trainer_infra.platform.queues.cluster_queue import ClusterQueue
from trainer_infra.platform.queues.queue_component import (
    STOP_POLICIES,
    QueueArgs,
    QueueComponent,
    given_fields,
    judge_reference,
    name_of,
)


class LocalQueueArgs(QueueArgs, total=False):
    """Arguments of a namespace's queue."""

    namespace: Required[str]
    """Whose jobs wait in it."""
    cluster_queue: Required[pulumi.Input[str] | ClusterQueue]
    """The queue that has the quota. It never changes: with another one the object is made anew."""
    stop_policy: pulumi.Input[str]
    """`None`, `Hold` (admit no more) or `HoldAndDrain` (evict those that run as well)."""
    fair_sharing_weight: pulumi.Input[float | str]
    """Its part when queues of the same ClusterQueue compete, where Kueue counts past use; 1 unless given."""


class LocalQueue(QueueComponent):
    """Kueue's LocalQueue, which jobs name in their label `kueue.x-k8s.io/queue-name`."""

    _arguments = LocalQueueArgs
    _name_shape = NAME | {"maxLength": LABEL_VALUE["maxLength"]}
    _fixed = ("spec.clusterQueue",)

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[LocalQueueArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `LocalQueueArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        return (args.get("cluster_queue"),)

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        problems.judge_text(("namespace",), args["namespace"], SHORT_NAME)
        judge_reference(problems, ("cluster_queue",), args["cluster_queue"], ClusterQueue)
        if "stop_policy" in args:
            problems.judge_choice(("stop_policy",), args["stop_policy"], STOP_POLICIES)
        if "fair_sharing_weight" in args:
            problems.judge_weight(("fair_sharing_weight",), args["fair_sharing_weight"])

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        spec = {
            "clusterQueue": name_of(args["cluster_queue"]),
            **given_fields(args, stop_policy="stopPolicy"),
        }
        if "fair_sharing_weight" in args:
            spec["fairSharing"] = {"weight": quantity_text(args["fair_sharing_weight"])}
        made = self._object("LocalQueue", args, spec=spec)
        made["metadata"]["namespace"] = args["namespace"]
        yield made
