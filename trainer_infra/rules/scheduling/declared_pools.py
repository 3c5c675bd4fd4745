"""Declared machines: whether pods find place on them, are let in, and outlive them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.placement import (
    amounts,
    machines,
    node_constraints,
    nodes,
    patches,
    queue_objects,
    standing_apart,
)
from trainer_infra.rules.placement.node_constraints import WantedLabel
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.scheduling import gang_members


@dataclass(frozen=True, slots=True)
class GangMember:
    """The pods of one replicated job, and the machines that they may use."""

    pod: Pod
    count: int
    asked: Mapping[str, int]
    """What one asks for, in billionths."""
    rooms: Sequence[tuple[Pool, int | None]]
    """The pools, and how many pods one machine takes; None where nothing limits it."""
    apart: tuple[int, str] | None = None
    """How many can stand as far apart as they must, and why they must; None where nothing asks for it."""

    @property
    def room(self) -> int | None:
        """How many find place; None where nothing limits it, or none fits any machine."""
        if not self.rooms:
            return None
        known = [pool.nodes * each for pool, each in self.rooms if each is not None]
        most = [] if self.apart is None else [self.apart[0]]
        most += [sum(known)] if len(known) == len(self.rooms) else []
        return min(most, default=None)

    @property
    def pools(self) -> Sequence[Pool]:
        """The pools."""
        return [pool for pool, _ in self.rooms]


def _check_gang(_place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    yield from gang_members.too_few(context.subject, context.world)
    if not context.world.pools:
        return
    subject = context.subject
    members = [_member(pod, context) for pod in nodes.pods_together(subject)]
    short = [each for each in members if each.room is not None and each.room < each.count]
    for each in short:
        pools = ", ".join(pool.name for pool in each.pools)
        what = f"makes more pods than the {each.room} that find place at a time in pool {pools}"
        if each.apart is not None and each.room == each.apart[0]:
            what = f"{what}: {each.apart[1]}"
        fix = f"use at most {nodes.pods_text(each.room)}, or add machines"
        yield nodes.count_place(each.pod, subject).finding(what, each.count, fix)
    if not short:
        yield from _of_all(members, context)


def _member(pod: Pod, context: Context[Parameters]) -> GangMember:
    world, asked = context.world, amounts.amounts_of(pod, context.subject)
    every = world.pools
    usable = machines.usable_pools(pod, asked, context.subject, world)
    rooms = [(pool, machines.per_machine(pool, asked, every)) for pool in usable]
    rooms = [each for each in rooms if each[1] != 0]
    apart = standing_apart.most_apart(pod, [pool for pool, _ in rooms], context.subject)
    return GangMember(pod, nodes.count(pod), asked, rooms, apart)


def _of_all(members: Sequence[GangMember], context: Context[Parameters]) -> Iterator[Finding]:
    """Resources of which all together ask for more than there is."""
    if not all(each.rooms for each in members):
        return
    every = context.world.pools
    declared = dict.fromkeys(resource for pool in every for resource in pool.capacity)
    for resource in declared:
        users = [each for each in members if each.asked.get(resource)]
        pools = {id(pool): pool for each in users for pool in each.pools}.values()
        asked = sum(each.asked[resource] * each.count for each in users)
        there = machines.amount_of_all(pools, resource, every)
        if users and there is not None and asked > there:
            most = max(users, key=lambda each: each.asked[resource] * each.count)
            whole, room = (amounts.amount_text(resource, each) for each in (asked, max(0, there)))
            what = f"makes {whole} {resource} of all pods at a time, and the pools that they may use have {room}"
            place = nodes.count_place(most.pod, context.subject)
            yield place.finding(what, most.count, "use fewer, or add machines")
            return


GANG_FITS: Final = Rule(
    id="gang-fits",
    title="Pods that must run together must fit at the same time",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING - names.RUNTIMES,
    tags=("scheduling", "gpu"),
    why=(
        "Training starts only when all its nodes run. With too few machines the gang is never "
        "placed, and without a gang scheduler some nodes hold their GPUs and wait for the others."
    ),
    fix="Use fewer nodes, request less, or add machines to the pool.",
    check=_check_gang,
    looks_around=True,
)
"""Two things are proved, of the least that is asked for: each replicated job has room on the pools
that it may use, whole pods on each machine; and all of them together do not ask for more of a
resource than those pools have. Pods that must stand apart (`placement/standing_apart`) take a machine
or a domain each, and a PodGroup that pods join must not wait for more than there are. A pod that fits
no machine at all is left to `gpu-fits-machine`.
"""


def _check_taints(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    found = {**_of_flavors(place, context), **_of_pools(place, context)}
    if found:
        where = patches.place(place.spec["tolerations"], context.subject)
        those = ", ".join(f"{name} has {_text(each)}" for name, each in found.items())
        what = f"lack a toleration without which no machine that fits takes the pods: {those}"
        first = next(iter(found.values()))
        how = f"value: {first.value}" if first.value else "operator: Exists"
        fix = f"add the toleration {{key: {first.key}, {how}, effect: {first.effect}}}"
        yield where.finding(what, fix=fix)


def _of_pools(pod: Pod, context: Context[Parameters]) -> Mapping[str, Taint]:
    """The taint of each pool that fits; nothing where one with the accelerators lets the pod in."""
    every = context.world.pools
    selected = node_constraints.selected_pools(pod, every)
    asked = amounts.amounts_of(pod, context.subject) if selected else {}
    fitting = [each for each in selected if not machines.lacking_resources(each, asked, every)]
    tolerated = machines.tolerations(pod, context.subject, context.world) if fitting else None
    if tolerated is None:
        return {}
    near = machines.with_accelerators(selected, asked)
    if any(node_constraints.keeps_away(each, asked, tolerated) is None for each in near):
        return {}
    away = {each.name: node_constraints.keeps_away(each, asked, tolerated) for each in fitting}
    return _if_all({f"pool {name}": each for name, each in away.items()})


def _of_flavors(pod: Pod, context: Context[Parameters]) -> Mapping[str, Taint]:
    """The same of the flavors of each resource group that the pod has part in."""
    patches.be_known(context.subject)
    queue = queue_objects.cluster_queue(context.subject, context.world)
    if queue is None:
        return {}
    result: dict[str, Taint] = {}
    asked = {*amounts.amounts_of(pod, context.subject), "pods"}
    for group in queue_objects.groups(queue, context.world):
        if asked.isdisjoint(group.covered):
            continue
        fitting = [each for each in group.flavors if each.selected(pod)]
        result |= _if_all({f"flavor {each.name}": each.keeps_away(pod) for each in fitting})
    return result


def _if_all(found: Mapping[str, Taint | None]) -> Mapping[str, Taint]:
    known = {name: each for name, each in found.items() if each is not None}
    return known if len(known) == len(found) else {}


def _text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


TAINTS_TOLERATED: Final = Rule(
    id="taints-tolerated",
    title="Pods must tolerate the taints of machines that fit them",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING - names.RUNTIMES,
    tags=("scheduling", "gpu", "kueue"),
    why="Machines with a taint that a pod does not tolerate reject it: it stays pending.",
    fix="Add the toleration to the pods; for a TrainJob, in the runtime or in spec.runtimePatches.",
    places=pods.pods_of,
    check=_check_taints,
    looks_around=True,
)
"""Judged against declared pools, and against the flavors of the queue that a job waits in: Kueue
compares a flavor's nodeTaints with the tolerations of the pod and of the flavor itself, and gives
the latter to the pods that it admits.
"""


_SPOT: Final[Mapping[str, frozenset[str]]] = {
    "cloud.google.com/gke-spot": frozenset({"true"}),
    "cloud.google.com/gke-preemptible": frozenset({"true"}),
    "cloud.google.com/gke-provisioning": frozenset({"spot", "preemptible"}),
    "eks.amazonaws.com/capacityType": frozenset({"SPOT"}),
    "karpenter.sh/capacity-type": frozenset({"spot"}),
    "kubernetes.azure.com/scalesetpriority": frozenset({"spot"}),
    "node.kubernetes.io/lifecycle": frozenset({"spot"}),
    "oci.oraclecloud.com/oke-is-preemptible": frozenset({"true"}),
    "spotinst.io/node-lifecycle": frozenset({"spot"}),
}
"""Labels of machines that can be taken away, with the values that say so."""
_ANY: Final = frozenset({"true"})
"""The values of a label that only such machines have."""


def _check_checkpoints(place: OutputJob, context: Context[Parameters]) -> Iterator[Finding]:
    patches.be_known(context.subject)
    reason = _reason(place.container.pod, context)
    if not reason or output.keeps(place, context.world):
        return
    found = output.outputs(place.container.value, output.VARIABLES, output.OPTIONS)
    if any(output.fate(each.folder, place, context.world) in output.SAFE for each in found):
        return
    where = patches.place(place.container.value["volumeMounts"], context.subject)
    what = f"has nothing that outlives the pod, so checkpoints are lost when {reason} goes away"
    yield where.finding(what, fix="mount a persistentVolumeClaim and write checkpoints to it")


def _reason(pod: Pod, context: Context[Parameters]) -> str:
    """The machine that can be taken away; empty where it may be another one."""
    if any(map(_wants_spot, node_constraints.wanted_labels(pod.spec))):
        return "the spot machine that it asks for"
    flavors = queue_objects.flavors(context.subject, context.world)
    chosen = [each for each in flavors or () if each.selected(pod)]
    if chosen and all(_is_spot(each.spec["nodeLabels"]) for each in chosen):
        return f"a machine of flavor {chosen[0].name}"
    asked = amounts.amounts_of(pod, context.subject) if context.world.pools else {}
    pools = machines.usable_pools(pod, asked, context.subject, context.world)
    if pools and all(each.preemptible for each in pools):
        return f"a machine of pool {pools[0].name}"
    return ""


def _wants_spot(label: WantedLabel) -> bool:
    spot = _SPOT.get(label.key)
    if spot is None or label.values is None:
        return spot == _ANY
    return bool(label.values) and label.values <= spot


def _is_spot(labels: Value) -> bool:
    return any(each.text() in _SPOT.get(key, ()) for key, each in labels.fields())


PREEMPTIBLE_CHECKPOINTS: Final = Rule(
    id="preemptible-checkpoints",
    title="Jobs on preemptible machines must keep checkpoints",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("scheduling", "cost", "checkpoints"),
    why="Each time a machine is taken away the training starts over, and all hours until then are lost.",
    fix="Mount a volume that outlives the pod and write checkpoints to it, or use other machines.",
    places=output.jobs,
    check=_check_checkpoints,
    looks_around=True,
)
"""A job is on preemptible machines where its node selector, or each term of its required node affinity,
says so in the words of a cloud or of Karpenter, where all flavors of its queue do, or where all pools
that it may use are declared so. It can keep checkpoints where a container that trains has a volume that
outlives the pod, or names an object store for its results.
"""
