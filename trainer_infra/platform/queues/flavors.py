"""ResourceFlavor and Topology: which nodes a quota is of, and which of their labels say how far two are apart."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, NotRequired, Required, TypedDict, Unpack

import pulumi

from trainer_infra.api.wire_types.pod_placement import TolerationArgs
from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.queue_component import QueueArgs, QueueComponent, name_of


class TopologyArgs(QueueArgs, total=False):
    """Arguments of a topology."""

    levels: Required[Sequence[pulumi.Input[str]]]
    """Labels of nodes, the widest first; `kubernetes.io/hostname` may stand last. They never change."""


class Topology(QueueComponent):
    """Kueue's Topology, by which it places the pods of a job close to one another."""

    _arguments = TopologyArgs
    kind = "Topology"
    fields: ClassVar[Fields] = {"levels": at("spec.levels", level=at("nodeLabel"))}

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[TopologyArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)


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
    kind = "ResourceFlavor"
    fields: ClassVar[Fields] = {
        "node_labels": at("spec.nodeLabels"),
        "node_taints": at("spec.nodeTaints"),
        "tolerations": at("spec.tolerations"),
        "topology_name": at("spec.topologyName", name_of),
    }

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[ResourceFlavorArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
