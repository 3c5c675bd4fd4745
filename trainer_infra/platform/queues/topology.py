"""Topology: which node labels say how far two nodes are apart."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Required, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import LABEL_KEY, ArgumentProblems, is_plain
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label of which every node has its own value."""
_MOST_LEVELS: Final = 16
_LEVEL: Final = LABEL_KEY | {"maxLength": 316}


class TopologyArgs(QueueArgs, total=False):
    """Arguments of a topology."""

    levels: Required[Sequence[pulumi.Input[str]]]
    """Labels of nodes, the widest first; `kubernetes.io/hostname` may stand last. They never change."""


class Topology(QueueComponent):
    """Kueue's Topology, by which it places the pods of a job close to one another."""

    _arguments = TopologyArgs

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[TopologyArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `TopologyArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        levels = problems.plain_list(("levels",), args["levels"], _MOST_LEVELS, least=1)
        for index, each in enumerate(levels):
            problems.judge_text(("levels", index), each, _LEVEL)
            if is_plain(each) and each == HOSTNAME and index < len(levels) - 1:
                problems.add(("levels", index), f"may be {HOSTNAME} only where it is the last")
        problems.judge_unique(("levels",), levels)

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        levels = [{"nodeLabel": each} for each in args["levels"]]
        yield self._object("Topology", args, spec={"levels": levels})
