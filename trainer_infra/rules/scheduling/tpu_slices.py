"""tpu-topology: a slice of TPUs has as many pods, of as many chips, as its topology says.

On GKE `cloud.google.com/gke-tpu-topology` is the shape of a slice in chips: `4x4` are 16. Each machine has
some of them, which one pod takes all, and the pods of one Job are the machines of the slice (GKE
documentation, "Plan TPUs in GKE" and "Deploy TPU workloads").
"""

import math
import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, node_constraints, nodes
from trainer_infra.rules.placement.node_constraints import WantedLabel
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

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


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    chips = amounts.amounts_of(pod, context.subject).get(_TPU, 0) // amounts.ONE
    wanted = {each.key: each for each in node_constraints.wanted_labels(pod.spec)}
    topology, accelerator = (_only(wanted.get(each)) for each in (_TOPOLOGY, _ACCELERATOR))
    if not chips or not (topology or accelerator):
        return
    kinds = _PER_MACHINE.get(accelerator, ())
    if kinds and chips not in kinds:
        where = amounts.place(pod, _TPU)
        what = f"is not a number of chips that a machine of {accelerator} has"
        yield where.finding(what, where.raw, f"write {' or '.join(map(str, kinds))}")
    elif topology:
        yield from _of_shape(pod, chips, wanted[_TOPOLOGY].place, topology, accelerator, context)
    elif accelerator:
        selector = pod.spec.at("nodeSelector", _TOPOLOGY)
        fix = "write the shape of the slice, as in 4x4"
        yield selector.finding(f"is not set, and GKE places TPUs by it beside {_ACCELERATOR}", fix=fix)


def _of_shape(  # noqa: PLR0913
    pod: Pod, chips: int, place: Value, topology: str, accelerator: str, context: Context[Parameters]
) -> Iterator[Finding]:
    sides = [int(each) for each in topology.split("x")] if _SHAPE.fullmatch(topology) else []
    dimensions = 2 if accelerator in _FLAT else 3
    if not sides or (accelerator in _PER_MACHINE and len(sides) != dimensions):
        shown = "4x4" if dimensions == 2 else "2x2x4"  # noqa: PLR2004
        what = f"is not a topology of {accelerator or 'TPUs'}"
        yield place.finding(what, topology, f"write one of {dimensions} dimensions, as in {shown}")
        return
    machines, rest = divmod(math.prod(sides), chips)
    count = nodes.count(pod) // max(pod.job["replicas"].number() or 1, 1)
    is_runtime = context.subject.kind in names.RUNTIMES and pod.step == names.TRAINER
    if is_runtime:
        count = nodes.total(context.subject)
    if rest or machines == 0:
        what = f"has {math.prod(sides)} chips, which machines of {chips} do not make up"
        yield place.finding(what, topology, "write the topology of the node pool")
    elif count % machines or not count:
        what = f"makes {count} pods of {chips} chips, and a slice of {topology} has {machines} machines"
        where = nodes.total_value(context.subject) if is_runtime else nodes.count_place(pod, context.subject)
        yield where.finding(what, count, f"write {machines}, or the topology of {count * chips} chips")


def _only(label: WantedLabel | None) -> str:
    """The one value that a label must have; empty where there are several."""
    values = () if label is None else tuple(label.values or ())
    return values[0] if len(values) == 1 else ""


RULE: Final = Rule(
    id="tpu-topology",
    title="The pods of a TPU job must make up the slice that its topology says",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("scheduling", "tpu", "topology"),
    why="Pods find no machine, or those of a part of the slice wait for the other machines forever.",
    fix="Use as many nodes as the slice has machines, and ask for all chips of a machine.",
    places=pods.pods_of,
    check=_check,
)
