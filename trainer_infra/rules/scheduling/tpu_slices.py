"""tpu-topology: a slice of TPUs has as many pods, of as many chips, as its topology says.

On GKE `cloud.google.com/gke-tpu-topology` is the shape of a slice in chips: `4x4` are 16. Each machine has
some of them, which one pod takes all, and the pods of one Job, or of one group of Ray or of a
LeaderWorkerSet, are the machines of the slice (GKE documentation, "Plan TPUs in GKE" and "Deploy TPU
workloads").
"""

import math
import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, lookup, node_constraints, nodes
from trainer_infra.rules.placement.node_constraints import WantedLabel
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT

_TPU: Final = "google.com/tpu"
_TOPOLOGY: Final = "cloud.google.com/gke-tpu-topology"
_ACCELERATOR: Final = "cloud.google.com/gke-tpu-accelerator"
_SHAPE: Final = re.compile(r"[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){1,2}", re.ASCII)
_FLAT: Final = ("tpu-v5-lite-podslice", "tpu-v5-lite-device", "tpu-v6e-slice", "tpu-v6e-device")
"""Accelerators whose topologies have two dimensions; those of the others have three."""
_PER_MACHINE: Final = {
    **dict.fromkeys(_FLAT, (1, 4, 8)),
    **dict.fromkeys(("tpu-v4-podslice", "tpu-v5p-slice", "tpu7x", "tpu-v4-lite-device"), (4,)),
}
"""Chips that a machine can have."""
_RAY: Final = ("RayCluster", "RayJob")
_GROUP: Final = "LeaderWorkerSet"


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    if pod.spec["nodeSelector"].raw is ABSENT and pod.spec["affinity"].raw is ABSENT:
        return
    chips = amounts.amounts_of(pod, context.subject).get(_TPU, 0) // amounts.ONE
    if not chips:
        return
    wanted = {each.key: each for each in node_constraints.wanted_labels(pod.spec)}
    topology, accelerator = (_only(wanted.get(each)) for each in (_TOPOLOGY, _ACCELERATOR))
    kinds = _PER_MACHINE.get(accelerator, ())
    if kinds and chips not in kinds:
        where = amounts.place(pod, _TPU)
        what = f"is not a number of chips that a machine of {accelerator} has"
        yield where.finding(what, where.raw, f"write {' or '.join(map(str, kinds))}")
    elif topology and not _is_topology(topology, accelerator):
        shown = "4x4" if accelerator in _FLAT else "4x4x4"
        what = f"is not a topology of {accelerator or 'TPUs'}"
        yield wanted[_TOPOLOGY].place.finding(what, topology, f"write one such as {shown}")
    elif topology:
        yield from _of_slice(pod, chips, topology, wanted[_TOPOLOGY].place, context.subject)
    elif accelerator and _TOPOLOGY not in wanted:
        selector = pod.spec.at("nodeSelector", _TOPOLOGY)
        what = f"is not set, and GKE places TPUs by it beside {_ACCELERATOR}"
        yield selector.finding(what, fix="write the shape of the slice, as in 4x4")


def _only(label: WantedLabel | None) -> str:
    """The one value that a label must have; empty where there are several."""
    values = () if label is None else tuple(label.values or ())
    return values[0] if len(values) == 1 else ""


def _is_topology(text: str, accelerator: str) -> bool:
    sides = 2 if accelerator in _FLAT else 3
    is_known = accelerator in _PER_MACHINE
    return bool(_SHAPE.fullmatch(text)) and not (is_known and text.count("x") + 1 != sides)


def _of_slice(
    pod: Pod, chips: int, topology: str, place: Value, subject: Subject
) -> Iterator[Finding]:
    """The slice consists of whole machines, and the Job has a pod for each of them."""
    size = math.prod(map(int, topology.split("x")))
    machines, rest = divmod(size, chips)
    count, where = _count(pod, subject)
    if rest or not machines:
        what = f"has {size} chips, which machines of {chips} do not make up"
        yield place.finding(what, topology, "write the topology of the node pool")
    elif count % machines or not count:
        made, whole = nodes.pods_text(count), nodes.pods_text(machines)
        what = f"makes {made} of {chips} chips, and a slice of {topology} is made up of {whole}"
        fix = f"write {machines}, or the topology of {count * chips} chips"
        yield where.finding(what, count, fix)


def _count(pod: Pod, subject: Subject) -> tuple[int, Value]:
    """Pods of one Job or group, which is one slice, and where that is written."""
    if subject.kind in _RAY:
        return pod.job["numOfHosts"].number() or 1, pod.job["numOfHosts"]
    if subject.kind == _GROUP:
        # Its leader is one of them, where it has chips.
        listed = ((each, lookup.items(each.spec["containers"])) for each in pods.pods_of(subject))
        members = [each for each, containers in listed if any(map(amounts.gpus_of, containers))]
        return sum(map(nodes.count, members)), pod.job["size"]
    if subject.kind in names.RUNTIMES and pod.trains:
        return nodes.total(subject), nodes.total_value(subject)
    replicas = max(pod.job["replicas"].number() or 1, 1)
    return nodes.count(pod) // replicas, nodes.count_place(pod, subject)


RULE: Final = Rule(
    id="tpu-topology",
    title="The pods of a TPU job must make up the slice that its topology says",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | {"Job", _GROUP, *_RAY},
    tags=("scheduling", "tpu", "topology"),
    why="Pods find no machine, or those of a part of the slice wait for the other machines forever.",
    fix="Use as many nodes as the slice has machines, and ask for all chips of a machine.",
    places=amounts.pods_with_devices,
    check=_check,
)
