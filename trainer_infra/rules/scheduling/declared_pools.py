"""Declared machines: whether they let pods in, and pods outlive them."""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.placement import (
    amounts,
    lookup,
    machines,
    node_constraints,
    nodes,
    patches,
    queue_objects,
)
from trainer_infra.rules.placement.node_constraints import WantedLabel
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Taint
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value


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
    return _reason_in_queue(context)


def _reason_in_queue(context: Context[Parameters]) -> str:
    """The quota that Kueue may take back; empty where no known job or queue is the reason."""
    world, queue = context.world, queue_objects.cluster_queue(context.subject, context.world)
    if queue is None:
        return ""
    label = context.subject.object.at("metadata", "labels", names.KUEUE_PRIORITY_LABEL).text()
    found = lookup.all_of(world, names.WORKLOAD_PRIORITY_CLASS)
    classes = {"": 0, **{each.name: each.object["value"].number() or 0 for each in found}}
    within = queue.object.at("spec", "preemption", "withinClusterQueue").text()
    if within.startswith("Lower") and classes.get(label, nodes.MOST) < max(classes.values()):
        return "its quota in a queue with jobs of a higher class"
    cohort = queue_objects.cohort(queue).text()
    resources = [r for _, each in queue_objects.quotas(queue) for r in each["resources"].items()]
    for other in queue_objects.members(world) if cohort else ():
        takes = other.object.at("spec", "preemption", "reclaimWithinCohort").text()
        is_near = other is not queue and queue_objects.cohort(other).text() == cohort
        if is_near and takes in ("Any", "LowerPriority") and any(map(_borrows, resources)):
            return f"the quota that it borrows of ClusterQueue {other.name}"
    return ""


def _borrows(resource: Value) -> bool:
    return resource["borrowingLimit"].raw not in (0, "0")


def _wants_spot(label: WantedLabel) -> bool:
    spot = _SPOT.get(label.key)
    if spot is None or label.values is None:
        return spot == _ANY
    return bool(label.values) and label.values <= spot


def _is_spot(labels: Value) -> bool:
    return any(each.text() in _SPOT.get(key, ()) for key, each in labels.fields())


PREEMPTIBLE_CHECKPOINTS: Final = Rule(
    id="preemptible-checkpoints",
    title="Jobs that may be preempted must keep checkpoints",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("scheduling", "cost", "checkpoints"),
    why="Each time a machine or quota is taken away the training starts over, and all hours until then are lost.",
    fix="Mount a volume that outlives the pod and write checkpoints to it, or use other machines.",
    places=output.jobs,
    check=_check_checkpoints,
    looks_around=True,
)
"""A job is on preemptible machines where its node selector, or each term of its required node affinity,
says so in the words of a cloud or of Karpenter, where all flavors of its queue do, where all pools that it may use are
declared so. Kueue may end it for a job of a higher class, or of the
queue in its cohort whose quota it borrows. It can keep checkpoints where a container that trains has a volume that
outlives the pod, or names an object store for its results.
"""
