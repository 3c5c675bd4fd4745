"""ResourceFlavor: which nodes a quota is of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.api.finding import Path
from trainer_infra.api.wire_types.pod_placement import TolerationArgs
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import (
    LABEL_KEY,
    LABEL_VALUE,
    ArgumentProblems,
    is_plain,
)
from trainer_infra.platform.pod_arguments import EFFECTS, judge_tolerations
from trainer_infra.platform.queues.queue_component import (
    QueueArgs,
    QueueComponent,
    given_fields,
    judge_reference,
    name_of,
)
from trainer_infra.platform.queues.topology import Topology

_MOST: Final = 8
"""Labels, taints and tolerations that a flavor may have, each."""


class TaintArgs(TypedDict):
    """A taint, in wire form."""

    key: pulumi.Input[str]
    value: NotRequired[pulumi.Input[str]]
    effect: pulumi.Input[str]
    """`NoSchedule`, `PreferNoSchedule` or `NoExecute`."""


class ResourceFlavorArgs(QueueArgs, total=False):
    """Arguments of a flavor."""

    node_labels: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    """Labels of its nodes, which Kueue makes the pods select; up to 8."""
    node_taints: Sequence[TaintArgs]
    """Taints of its nodes: Kueue gives a job this flavor only if its pods tolerate them; up to 8."""
    tolerations: Sequence[TolerationArgs]
    """What Kueue makes the pods tolerate, in wire form; up to 8."""
    topology_name: pulumi.Input[str] | Topology
    """Topology by which it places pods on these nodes; it needs a label of the nodes."""


class ResourceFlavor(QueueComponent):
    """Kueue's ResourceFlavor: a kind of nodes that a quota counts."""

    _arguments = ResourceFlavorArgs

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ResourceFlavorArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `ResourceFlavorArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        return (args.get("topology_name"),)

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        labels = args.get("node_labels", {})
        problems.judge_labels(("node_labels",), labels, _MOST)
        _judge_taints(problems, args.get("node_taints", ()))
        judge_tolerations(problems, args.get("tolerations", ()), _MOST)
        if "topology_name" in args:
            judge_reference(problems, ("topology_name",), args["topology_name"], Topology)
            if is_plain(labels) and not labels:
                problems.add(("node_labels",), "must have at least one label beside topology_name")

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        spec = given_fields(
            args, node_labels="nodeLabels", node_taints="nodeTaints", tolerations="tolerations"
        )
        if "topology_name" in args:
            spec["topologyName"] = name_of(args["topology_name"])
        yield self._object("ResourceFlavor", args, spec=spec)


def _judge_taints(problems: ArgumentProblems, taints: object) -> None:
    at: Path = ("node_taints",)
    seen = []
    for index, each in enumerate(problems.plain_list(at, taints, _MOST)):
        here = (*at, index)
        fields = ("key", "value", "effect")
        taint = problems.plain_fields(here, each, fields, needed=("key", "effect"))
        if "key" in taint:
            problems.judge_text((*here, "key"), taint["key"], LABEL_KEY)
        problems.judge_text((*here, "value"), taint.get("value", ""), LABEL_VALUE)
        if "effect" in taint:
            problems.judge_choice((*here, "effect"), taint["effect"], EFFECTS)
        seen.append((taint.get("key"), taint.get("effect")))
    doubles = [f"{key}:{effect}" for key, effect in seen if is_plain(key) and is_plain(effect)]
    problems.judge_unique(at, doubles)
