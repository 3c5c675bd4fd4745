"""tpu-topology: a slice of TPUs has as many pods, of as many chips, as its topology says.

On GKE `cloud.google.com/gke-tpu-topology` is the shape of a slice in chips: `4x4` are 16. Each machine has
some of them, which one pod takes all, and the pods of one Job are the machines of the slice (GKE
documentation, "Plan TPUs in GKE" and "Deploy TPU workloads").
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, node_constraints, nodes
from trainer_infra.rules.placement.node_constraints import WantedLabel
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_TPU: Final = "google.com/tpu"
_TOPOLOGY: Final = "cloud.google.com/gke-tpu-topology"
_ACCELERATOR: Final = "cloud.google.com/gke-tpu-accelerator"
_SHAPE: Final = re.compile(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}", re.ASCII)
_FLAT: Final = ("tpu-v5-lite-podslice", "tpu-v5-lite-device", "tpu-v6e-slice", "tpu-v6e-device")
"""Accelerators whose topologies have two dimensions; those of the others have three."""
_PER_MACHINE: Final = {
    **dict.fromkeys(_FLAT, (1, 4, 8)),
    **dict.fromkeys(("tpu-v4-podslice", "tpu-v5p-slice", "tpu7x"), (4,)),
    "tpu-v4-lite-device": (4,),
}
"""Chips that a machine can have."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """What a pod says of the slice that it is in."""

    pod: Pod
    chips: int
    """Of one pod."""
    place: Value
    """Where its topology stands."""
    topology: str
    accelerator: str

    @property
    def sides(self) -> tuple[int, ...]:
        """The topology in numbers; none where it is no topology of the accelerator."""
        found = self.topology.split("x") if _SHAPE.fullmatch(self.topology) else []
        is_known = self.accelerator in _PER_MACHINE
        return tuple(map(int, found)) if not is_known or len(found) == self.dimensions else ()

    @property
    def dimensions(self) -> int:
        """Those of the accelerator's topologies."""
        return len("xy") if self.accelerator in _FLAT else len("xyz")


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    wanted = {each.key: each for each in node_constraints.wanted_labels(pod.spec)}
    topology, accelerator = (_only(wanted.get(each)) for each in (_TOPOLOGY, _ACCELERATOR))
    if not (topology or accelerator):
        return
    chips = amounts.amounts_of(pod, context.subject).get(_TPU, 0) // amounts.ONE
    if not chips:
        return
    kinds = _PER_MACHINE.get(accelerator, ())
    if kinds and chips not in kinds:
        where = amounts.place(pod, _TPU)
        what = f"is not a number of chips that a machine of {accelerator} has"
        yield where.finding(what, where.raw, f"write {' or '.join(map(str, kinds))}")
    elif topology:
        found = _Slice(pod, chips, wanted[_TOPOLOGY].place, topology, accelerator)
        yield from _of_slice(found, context.subject)
    elif _TOPOLOGY not in wanted:
        selector = pod.spec.at("nodeSelector", _TOPOLOGY)
        what = f"is not set, and GKE places TPUs by it beside {_ACCELERATOR}"
        yield selector.finding(what, fix="write the shape of the slice, as in 4x4")


def _of_slice(found: _Slice, subject: Subject) -> Iterator[Finding]:
    if not found.sides:
        shown = "x".join("4" * found.dimensions)
        what = f"is not a topology of {found.accelerator or 'TPUs'}"
        fix = f"write one of {found.dimensions} dimensions, as in {shown}"
        yield found.place.finding(what, found.topology, fix)
        return
    chips = math.prod(found.sides)
    machines, rest = divmod(chips, found.chips)
    count, where = _count(found.pod, subject)
    if rest or not machines:
        what = f"has {chips} chips, which machines of {found.chips} do not make up"
        yield found.place.finding(what, found.topology, "write the topology of the node pool")
    elif count % machines or not count:
        what = (
            f"makes {count} pods of {found.chips} chips, and a slice of {found.topology} has "
            f"{machines} machines"
        )
        fix = f"write {machines}, or the topology of {count * found.chips} chips"
        yield where.finding(what, count, fix)


def _count(pod: Pod, subject: Subject) -> tuple[int, Value]:
    """Pods of one Job, which is one slice, and where that is written."""
    if subject.kind in names.RUNTIMES and pod.trains:
        return nodes.total(subject), nodes.total_value(subject)
    replicas = max(pod.job["replicas"].number() or 1, 1)
    return nodes.count(pod) // replicas, nodes.count_place(pod, subject)


def _only(label: WantedLabel | None) -> str:
    """The one value that a label must have; empty where there are several."""
    values = () if label is None else tuple(label.values or ())
    return values[0] if len(values) == 1 else ""


RULE: Final = Rule(
    id="tpu-topology",
    title="The pods of a TPU job must make up the slice that its topology says",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | {"Job"},
    tags=("scheduling", "tpu", "topology"),
    why="Pods find no machine, or those of a part of the slice wait for the other machines forever.",
    fix="Use as many nodes as the slice has machines, and ask for all chips of a machine.",
    places=pods.pods_of,
    check=_check,
)
