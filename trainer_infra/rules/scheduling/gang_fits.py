"""gang-fits: pods that must run together find place at the same time on declared machines.

Pods that must not share a machine, or a domain of machines, take one each: by required podAntiAffinity that
selects the pod itself, topologySpreadConstraints with minDomains, ports of the host, and JobSet's exclusive
topology. A PodGroup that pods join waits for no more pods than there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import (
    amounts,
    lookup,
    machines,
    node_constraints,
    nodes,
    queue_objects,
)
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.world import World

_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_OF_ONE_POD: Final = (names.COMPLETION_INDEX, "apps.kubernetes.io/pod-index")
"""Labels in which the pods of a Job differ."""
_OF_ONE_JOB: Final = (
    *(names.JOB_NAME_LABEL, names.JOB_NAME_OLD_LABEL, names.JOB_INDEX_LABEL, names.JOB_KEY_LABEL),
    *(names.JOB_GLOBAL_INDEX_LABEL, "batch.kubernetes.io/controller-uid", "controller-uid"),
)
"""Labels in which the Jobs of a replicated job differ."""
Apart = tuple[str, int, str]
"""The label of a domain, how many pods one may have, and why."""
_MARKS: Final = {
    "scheduling.x-k8s.io": ("labels", names.COSCHEDULING_GROUP_LABEL),
    "scheduling.volcano.sh": ("annotations", names.VOLCANO_GROUP_ANNOTATION),
}
"""By API group of a PodGroup, what its pods have."""


@dataclass(frozen=True, slots=True)
class GangMember:
    """The pods of one replicated job, and the machines that they may use."""

    pod: Pod
    count: int
    asked: Mapping[str, int]
    """What one asks for, in billionths."""
    pools: Sequence[Pool]
    room: int | None
    """How many find place; None where nothing limits it, or none fits any machine."""
    why: str
    """Why it is so few, where they must stand apart."""


def _check(_place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    yield from _too_few(context.subject, context.world)
    if not context.world.pools:
        return
    subject = context.subject
    members = [_member(pod, context) for pod in nodes.pods_together(subject)]
    short = [each for each in members if each.room is not None and each.room < each.count]
    for each in short:
        pools = ", ".join(pool.name for pool in each.pools)
        what = f"makes more pods than the {each.room} that find place at a time in pool {pools}"
        fix = f"use at most {nodes.pods_text(each.room or 0)}, or add machines"
        where = nodes.count_place(each.pod, subject)
        yield where.finding(f"{what}{each.why}", each.count, fix)
    if not short:
        yield from _of_all(members, context)


def _member(pod: Pod, context: Context[Parameters]) -> GangMember:
    subject, every = context.subject, context.world.pools
    asked = amounts.amounts_of(pod, subject)
    usable = machines.usable_pools(pod, asked, subject, context.world)
    rooms = [(each, machines.per_machine(each, asked, every)) for each in usable]
    rooms = [each for each in rooms if each[1] != 0]
    bounds = _bounds(pod, rooms, subject) if rooms else ()
    room, why = min(bounds, key=lambda each: each[0], default=(None, ""))
    pools = [pool for pool, _ in rooms]
    return GangMember(pod, nodes.count(pod), asked, pools, room, why)


def _bounds(
    pod: Pod, rooms: Sequence[tuple[Pool, int | None]], subject: Subject
) -> Iterator[tuple[int, str]]:
    """How many pods find place by all that limits them, and why they must stand apart."""
    pools = [pool for pool, _ in rooms]
    for key, most, why in (*_apart(pod, subject), *_spread(pod, pools, subject)):
        count = _domains(key, pools)
        if count is not None:
            yield count * most, f": {why}"
    known = [pool.nodes * each for pool, each in rooms if each is not None]
    if len(known) == len(rooms):
        yield sum(known), ""


def _of_all(members: Sequence[GangMember], context: Context[Parameters]) -> Iterator[Finding]:
    """Resources of which all together ask for more than there is."""
    if not all(each.pools for each in members):
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


def _domains(key: str, pools: Sequence[Pool]) -> int | None:
    """How many domains of that label the machines are in; None where that is not declared."""
    if key == queue_objects.HOSTNAME:
        return sum(each.nodes for each in pools)
    values = [each.labels.get(key) for each in pools]
    return None if None in values or not values else len({*values})


def _apart(pod: Pod, subject: Subject) -> Iterator[Apart]:
    for each in lookup.items(pod.spec.at("affinity", "podAntiAffinity", _REQUIRED)):
        key = each["topologyKey"].text()
        if _selects_itself(each, pod, subject):
            yield key, 1, f"their podAntiAffinity wants {key} to differ"
    if _takes_port(pod):
        yield queue_objects.HOSTNAME, 1, "their host port is free once on each machine"
    exclusive = (
        each.at("metadata", "annotations", _EXCLUSIVE)
        for each in (subject.object, *subject.rendered_of(names.JOBSET), pod.job["template"])
    )
    parallelism = pod.job_spec["parallelism"].number() or 1
    for each in exclusive:
        if each.is_there():
            yield each.text(), parallelism, f"each Job has a {each.text()} of its own"


def _spread(pod: Pod, pools: Sequence[Pool], subject: Subject) -> Iterator[Apart]:
    """Spreads over more domains than there are: Kubernetes then lets each have maxSkew pods."""
    for each in lookup.items(pod.spec["topologySpreadConstraints"]):
        key, least = each["topologyKey"].text(), each["minDomains"].number()
        count = _domains(key, pools)
        is_hard = each["whenUnsatisfiable"].text() == "DoNotSchedule"
        if is_hard and least and count and count < least and _selects_itself(each, pod, subject):
            yield key, each["maxSkew"].number() or 1, f"minDomains wants {least} of {key}"


def _takes_port(pod: Pod) -> bool:
    """Whether a pod takes a port of its machine; with hostNetwork each port is one."""
    field = "containerPort" if pod.spec["hostNetwork"].flag() else "hostPort"
    sidecars = pod.spec["initContainers"].items()
    stay = [each for each in sidecars if each["restartPolicy"].text() == "Always"]
    stay += pod.spec["containers"].items()
    return any(port[field].number() for each in stay for port in each["ports"].items())


def _selects_itself(term: Value, pod: Pod, subject: Subject) -> bool:
    """Whether a term is surely about all pods of the replicated job together."""
    selector, mine = term["labelSelector"], subject.namespace
    spaces = [each.text() for each in lookup.items(term["namespaces"])]
    if not selector.is_there() or term["mismatchLabelKeys"].is_there():
        return False
    if term["namespaceSelector"].is_there() or (spaces and mine not in spaces):
        return False
    keys = {key for key, _ in selector["matchLabels"].fields()}
    keys |= {each["key"].text() for each in lookup.items(selector["matchExpressions"])}
    keys |= {each.text() for each in lookup.items(term["matchLabelKeys"])}
    several = (pod.job["replicas"].number() or 1) > 1
    if keys.intersection(_OF_ONE_POD) or (several and keys.intersection(_OF_ONE_JOB)):
        return False
    return node_constraints.selects(selector, _labels(pod, subject))


def _labels(pod: Pod, subject: Subject) -> dict[str, str]:
    """A pod's labels, with those that JobSet and the Job controller add."""
    subject.object.at("metadata", "name").is_there()
    job = f"{subject.name}-{pod.name()}-0"
    return lookup.labels_of(pod.template) | {
        names.JOBSET_NAME_LABEL: subject.name,
        names.REPLICATED_JOB_LABEL: pod.name(),
        names.JOB_NAME_LABEL: job,
        names.JOB_NAME_OLD_LABEL: job,
        names.JOB_INDEX_LABEL: "0",
    }


def _too_few(subject: Subject, world: World) -> Iterator[Finding]:
    """Groups that wait for more pods than the object makes, as far as no other object joins them."""
    for api_group, mark in _MARKS.items():
        members: dict[str, list[Pod]] = {}
        for pod in pods.pods_of(subject):
            if pod.template.at("metadata", *mark).is_there():
                members.setdefault(pod.template.at("metadata", *mark).text(), []).append(pod)
        for name, found in members.items():
            kind = f"{names.POD_GROUP}.{api_group}"
            group = lookup.spec_of(world, kind, name, subject.namespace)
            least, count = group["minMember"].number() or 0, sum(map(nodes.count, found))
            if least > count and not _joined_by(subject, world, mark, name):
                what = f"joins a PodGroup that waits for {nodes.pods_text(least)}, and the job has {count}"
                fix = f"write minMember: {count}"
                yield found[0].template.at("metadata", *mark).finding(what, name, fix)


def _joined_by(subject: Subject, world: World, mark: tuple[str, str], name: str) -> bool:
    """Whether another object has, or may have, pods in the group."""
    others = (each for kind in pods.COMPUTING for each in world.of_kind(kind, subject.namespace))
    own = (subject.kind, subject.name)
    found = (each for each in others if (each.kind, each.name) != own)
    joined = (pod.template.at("metadata", *mark) for each in found for pod in pods.pods_of(each))
    return any(each.is_noted() or each.raw == name for each in joined)


RULE: Final = Rule(
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
    check=_check,
    looks_around=True,
)
"""Two things are proved, of the least that is asked for: each replicated job has room on the pools
that it may use, whole pods on each machine; and all of them together do not ask for more of a
resource than those pools have. A pod that fits no machine at all is left to `gpu-fits-machine`.
"""
