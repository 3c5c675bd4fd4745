"""What machines are known by, and placed by: name, labels, taints, and levels of the topology."""

from collections.abc import Iterator
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.shape.object_meta import LABELS
from trainer_infra.catalog.machine_types import HOSTNAME
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.platform.argument_fields import (
    Fields,
    argument_path,
    of_argument,
    put_fields,
    refusals,
)
from trainer_infra.platform.argument_problems import SHORT_NAME, shape_problems
from trainer_infra.platform.pools.declaration import Declaration
from trainer_infra.platform.queues.flavors import ResourceFlavor, Topology
from trainer_infra.platform.queues.queue_component import KUEUE

_FLAVOR: Final = {"taints": ResourceFlavor.fields["node_taints"]}
_TOPOLOGY: Final = {"topology": Topology.fields["levels"]}
_KARPENTER_REFUSES: Final = ("kubernetes.io", "k8s.io", "karpenter.sh")
"""Domains whose labels a NodePool cannot set, some well-known ones excepted."""
_KARPENTER_ADMITS: Final = (
    "node.kubernetes.io/windows-build", "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone", "kubernetes.io/arch", "kubernetes.io/os",
    "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type",
)  # fmt: skip


def problems_of_marks(declared: Declaration) -> Iterator[Problem]:
    """Problems of what the machines are known by."""
    if any(shape_problems((), declared.name, SHORT_NAME)):
        what = "must be 1 to 63 of a-z, 0-9 and -, and begin and end with a letter or digit"
        yield Problem("", f"its name {what}: it is a label of its machines", got=declared.name)
    labels = declared.args.get("labels", {})
    yield from shape_problems(("labels",), labels, LABELS)
    yield from _label_problems(declared)
    yield from _refusals(ResourceFlavor.kind, {"taints": declared.args.get("taints")}, _FLAVOR)
    if declared.backend == "existing" and not (labels or "machine_type" in declared.args):
        what = "is missing: nothing says which machines these are"
        yield Problem("labels", what, fix="say labels that they have, or machine_type=")


def _label_problems(declared: Declaration) -> Iterator[Problem]:
    for key, value in declared.args.get("labels", {}).items():
        path = f"labels.{key}"
        if key == HOSTNAME and declared.backend != "existing":
            yield Problem(path, "is another of each machine", fix="leave it out")
        if key == names.POOL_LABEL and value != declared.name:
            yield Problem(path, "is the name of the pool", got=value, fix="leave it out")
        if declared.backend == "karpenter" and key != HOSTNAME and _is_refused(key):
            what = "is in a domain that Karpenter lets no NodePool set"
            yield Problem(path, what, fix="use a domain of yours")


def _is_refused(key: str) -> bool:
    domain = key.rpartition("/")[0]
    inside = any(domain == each or domain.endswith(f".{each}") for each in _KARPENTER_REFUSES)
    return inside and key not in _KARPENTER_ADMITS


def problems_of_topology(declared: Declaration) -> Iterator[Problem]:
    """Problems of `topology` and `domain_nodes`."""
    levels = declared.levels
    yield from _refusals(Topology.kind, {"topology": levels or None}, _TOPOLOGY)
    yield from _unseen_machines(declared)
    for label, count in declared.args.get("domain_nodes", {}).items():
        if label not in levels:
            what = "is not a level of the topology"
            yield Problem(f"domain_nodes.{label}", what, fix="write it there")
        if count < 1:
            yield Problem(f"domain_nodes.{label}", "must be a whole number, 1 or more", got=count)


def _unseen_machines(declared: Declaration) -> Iterator[Problem]:
    if not declared.levels:
        return
    if not declared.queues:
        fix = "leave one of the two out"
        yield Problem("topology", "is Kueue's, and queueing is False", fix=fix)
    elif not declared.keeps_nodes:
        what = (
            "places jobs on machines that are there, and this pool keeps none: Kueue would admit "
            "nothing to it"
        )
        fix = "say nodes.replicas" if declared.backend == "karpenter" else "say nodes.min"
        yield Problem("topology", what, fix=f"{fix}, provisioning_class=, or topology=[]")


def _refusals(kind: str, args: JSONDict, fields: Fields) -> Iterator[Problem]:
    """What Kueue would refuse of the object that it gets of the pool; nothing where it gets none."""
    given: Any = {key: each for key, each in args.items() if each is not None}
    if given:
        made = {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": "pool"}}
        for each in refusals(put_fields(made, given, fields)):
            path = argument_path(each.path, given, fields)
            yield of_argument(each, path, fields).problem("")
