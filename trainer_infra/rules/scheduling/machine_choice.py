"""Which machines pods choose: past the scheduler, one by its name, or any at all."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, node_constraints, queue_objects
from trainer_infra.rules.placement.node_constraints import WantedLabel
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_CONTROL_PLANE: Final = (
    *("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"),
    *("node-role.kubernetes.io/controlplane", "node-role.kubernetes.io/etcd"),
)
"""Labels and taints of the machines that run the cluster, of kubeadm, older ones and RKE."""
_KINDS: Final = pods.COMPUTING | {names.RESOURCE_FLAVOR}
"""Kinds that compute: what runs on every machine may well have to."""


@dataclass(frozen=True, slots=True)
class _Holder:
    """What chooses machines: pods, or the pods of a flavor of Kueue."""

    spec: Value
    """A PodSpec, or the spec of a ResourceFlavor; both have tolerations."""
    labels: tuple[WantedLabel, ...]


def _holders(subject: Subject) -> Iterator[_Holder]:
    if subject.kind == names.RESOURCE_FLAVOR:
        spec = subject.object["spec"]
        labels = spec["nodeLabels"].fields()
        found = (WantedLabel(key, frozenset({each.text()}), each) for key, each in labels)
        yield _Holder(spec, tuple(found))
    for pod in pods.pods_of(subject):
        yield _Holder(pod.spec, tuple(node_constraints.wanted_labels(pod.spec)))


def _check_control_plane(place: _Holder, _context: Context[Parameters]) -> Iterator[Finding]:
    name = place.spec["nodeName"]
    if name.text():
        what = "binds the pods to a machine past the scheduler, its taints and every queue"
        yield name.finding(what, name.text(), "remove it, and select machines by labels")
    for each in place.labels:
        if each.key in _CONTROL_PLANE and each.values != frozenset({"false"}):
            yield each.place.finding("selects machines of the control plane", each.key, "remove it")
    for toleration in lookup.items(place.spec["tolerations"]):
        key = toleration["key"]
        if key.text() in _CONTROL_PLANE:
            what = "lets the pods onto machines of the control plane"
            yield key.finding(what, key.text(), "remove the toleration")


CONTROL_PLANE: Final = Rule(
    id="control-plane",
    title="Jobs must be placed by the scheduler, and not on the control plane",
    severity=Severity.HIGH,
    kinds=_KINDS,
    tags=("scheduling", "nodes"),
    why=(
        "The job takes memory and disk from the API server and etcd, or runs on a machine whatever its "
        "taints, its owner and the queue say."
    ),
    fix="Remove `nodeName`, and the selectors and tolerations of the control plane.",
    places=_holders,
    check=_check_control_plane,
)


_BY_NAME: Final = (queue_objects.HOSTNAME, "metadata.name")
"""The label, and the field for node affinity, that name a machine."""


def _check_name(place: _Holder, _context: Context[Parameters]) -> Iterator[Finding]:
    for each in place.labels:
        if each.key in _BY_NAME and each.values is not None:
            what = "names the machine on which the pods must run"
            fix = "select machines by what they are, not by their names"
            yield each.place.finding(what, " or ".join(sorted(each.values)), fix)


PINNED_NODES: Final = Rule(
    id="pinned-nodes",
    title="Jobs must not be pinned to machines by name",
    severity=Severity.MEDIUM,
    kinds=_KINDS,
    tags=("scheduling", "nodes"),
    why="The job waits for that machine while others are idle, and forever once the machine is replaced.",
    fix="Select machines by a label of their pool, their accelerator or their topology.",
    places=_holders,
    check=_check_name,
)


def _check_tolerations(place: _Holder, _context: Context[Parameters]) -> Iterator[Finding]:
    for each in lookup.items(place.spec["tolerations"]):
        if not each["key"].text() and each["operator"].text() == "Exists":
            effect = each["effect"].text()
            those = f"taint of effect {effect}" if effect else "taint"
            what = (
                f"tolerates every {those}: of the control plane, of other teams, of broken machines"
            )
            yield each.finding(what, None, "name the key of the taint that is meant")


TOLERATES_EVERYTHING: Final = Rule(
    id="tolerates-everything",
    title="Tolerations must name the taint that they tolerate",
    severity=Severity.MEDIUM,
    kinds=_KINDS,
    tags=("scheduling", "nodes", "kueue"),
    why=(
        "Taints keep jobs off machines that are reserved, that run the cluster, or that are failing; "
        "with such a toleration none of them does."
    ),
    fix="Write one toleration for each taint, with its key.",
    places=_holders,
    check=_check_tolerations,
)
"""A flavor of Kueue gives its tolerations to all pods that it takes."""
