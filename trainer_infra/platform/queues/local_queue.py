"""LocalQueue: where the jobs of a namespace wait."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, ClassVar, Final, Required, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.argument_problems import known_amount, shape_problems
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.cluster_queue import ClusterQueue
from trainer_infra.platform.queues.queue_component import (
    LABEL_NAME,
    WEIGHT,
    QueueArgs,
    QueueComponent,
    name_of,
)

_LEAST_WEIGHT: Final = Decimal("1e-9")


class LocalQueueArgs(QueueArgs, total=False):
    """Arguments of a namespace's queue."""

    namespace: Required[str]
    """Whose jobs wait in it."""
    cluster_queue: Required[pulumi.Input[str] | ClusterQueue]
    """The queue that has the quota. It never changes: with another one the object is made anew."""
    stop_policy: pulumi.Input[str]
    """`None`, `Hold` (admit no more) or `HoldAndDrain` (evict those that run as well)."""
    fair_sharing_weight: pulumi.Input[float | str]
    """Its part when queues of the same ClusterQueue compete, if that has the `admission_mode`
    `UsageBasedAdmissionFairSharing`; 1 unless given."""


class LocalQueue(QueueComponent):
    """Kueue's LocalQueue, which jobs name in their label `kueue.x-k8s.io/queue-name`."""

    _arguments = LocalQueueArgs
    kind = "LocalQueue"
    fields: ClassVar[Fields] = {
        "namespace": at("metadata.namespace"),
        "cluster_queue": at("spec.clusterQueue", name_of),
        "stop_policy": at("spec.stopPolicy"),
        "fair_sharing_weight": WEIGHT,
    }
    _fixed = ("spec.clusterQueue",)

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[LocalQueueArgs]
    ) -> None:
        """Declare it; what to give is in `LocalQueueArgs`."""
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        return (args.get("cluster_queue"),)

    @override
    def _problems(self, args: Any) -> Iterator[Problem]:
        yield from shape_problems(("name",), self.object_name, LABEL_NAME)
        weight = args.get("fair_sharing_weight")
        amount = known_amount(weight)
        if amount is not None and (amount < 0 or 0 < amount <= _LEAST_WEIGHT):
            yield Problem("fair_sharing_weight", "must be 0, or more than 1n", weight)
