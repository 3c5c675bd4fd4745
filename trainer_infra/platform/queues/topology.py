"""Topology: which node labels say how far two nodes are apart."""

from collections.abc import Sequence
from typing import ClassVar, Required, Unpack

import pulumi

from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent


class TopologyArgs(QueueArgs, total=False):
    """Arguments of a topology."""

    levels: Required[Sequence[pulumi.Input[str]]]
    """Labels of nodes, the widest first; `kubernetes.io/hostname` may stand last. They never change."""


class Topology(QueueComponent):
    """Kueue's Topology, by which it places the pods of a job close to one another."""

    _arguments = TopologyArgs
    _kind = "Topology"
    _fields: ClassVar[Fields] = {"levels": at("spec.levels", level=at("nodeLabel"))}

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[TopologyArgs]
    ) -> None:
        """Declare it; what to give is in `TopologyArgs`."""
        super().__init__(resource_name, args, opts)
