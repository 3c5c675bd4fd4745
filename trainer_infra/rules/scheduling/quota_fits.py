"""What a job asks for can fit into the quota of its queue at all.

Kueue counts all pods of a job, initializers too, and admits them together. Each replicated job gets
one flavor for all resources of a resource group. The most that a flavor can ever give is in `quota`.
Volcano compares what a PodGroup needs at least with its queue's capability, KAI what runs with its
queue's limits.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import Field

from trainer_infra import names
from trainer_infra.render.plugins import kai
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, lookup, nodes, patches, queue_objects
from trainer_infra.rules.placement.queue_objects import Group
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.scheduling import quota
from trainer_infra.rules.value import ABSENT
from trainer_infra.rules.world import World


@dataclass(frozen=True, slots=True)
class Shortage:
    """More is asked for than there can be."""

    resource: str
    """Of which resource."""
    asked: int
    """By all pods that were counted, in billionths."""
    room: int
    """The most that there can be, in billionths."""
    limit: str
    """What limits it, a clause."""


BUILT_IN: Final = ("default", "root", "default-queue")
"""Queues that Volcano, and KAI's chart, make themselves."""
_KAI_QUEUE: Final = f"{names.VOLCANO_QUEUE}.{kai.API_VERSION.partition('/')[0]}"
_NAMED: Final = (
    (names.VOLCANO_QUEUE, "annotations", names.VOLCANO_QUEUE_ANNOTATION),
    (_KAI_QUEUE, "labels", kai.QUEUE_LABEL),
)
"""By the kind of a queue, where jobs and pods name it."""
_KAI_UNITS: Final = {
    "nvidia.com/gpu": ("gpu", amounts.ONE),
    "cpu": ("cpu", amounts.ONE // 1000),
    "memory": ("memory", amounts.ONE * 10**6),
}
"""By resource, what a queue of KAI calls it, and its unit: devices, thousandths of a core, megabytes."""


def other_queues(subject: Subject) -> Iterator[tuple[Value, str]]:
    """Where a job names queues of Volcano and KAI, with their kinds."""
    own = () if subject.kind == names.TRAIN_JOB else (subject.object,)
    holders = [*own, *subject.rendered_of(names.JOBSET)]
    holders += [pod.template for pod in pods.pods_of(subject)]
    metadata = [each["metadata"] for each in holders if each["metadata"].raw is not ABSENT]
    for kind, field, key in _NAMED:
        written = [each[field] for each in metadata]
        found = [each[key] for each in written if each.raw is not ABSENT]
        yield from ((each, kind) for each in found if each.is_there())
    if _is_of_volcano(subject):
        yield subject.object.at("spec", "queue"), names.VOLCANO_QUEUE


def _is_of_volcano(subject: Subject) -> bool:
    return subject.kind == "Job" and subject.api_version.startswith("batch.volcano.sh/")


def _of_others(subject: Subject, world: World) -> Shortage | None:
    """What is needed beyond what a queue of Volcano or KAI, or one above it, can have: no limit is none."""
    for kind, field, says in (
        (names.VOLCANO_QUEUE, "parent", "Volcano's queue {} is capped at {}"),
        (_KAI_QUEUE, "parentQueue", "KAI's queue {} is limited to {}"),
    ):
        named = (each.text() for each, of_kind in subject.once(other_queues) if of_kind == kind)
        name, seen = next(named, ""), set[str]()
        needed = _needed(kind, subject) if name else {}
        while name and name not in seen:
            seen.add(name)
            spec = lookup.spec_of(world, kind, name)
            for resource, asked in needed.items():
                room = _room(kind, spec, resource)
                if room is not None and asked > room:
                    limit = says.format(name, amounts.amount_text(resource, room))
                    return Shortage(resource, asked, room, limit)
            name = spec[field].text()
    return None


def _needed(kind: str, subject: Subject) -> amounts.Amounts:
    """What must run at once: what a PodGroup of Volcano asks for at least, or all pods together."""
    if kind == names.VOLCANO_QUEUE and not _is_of_volcano(subject):
        groups = (each.at("spec", "minResources") for each in subject.rendered_of(names.POD_GROUP))
        read = {name: amounts.read_amount(each) for one in groups for name, each in one.fields()}
        return {name: each for name, each in read.items() if each is not None}
    together = [(nodes.count(each), each) for each in nodes.pods_together(subject)]
    least = subject.object.at("spec", "minAvailable").number()
    if least is not None and least < sum(count for count, _ in together):
        return {}
    return amounts.sum_of_pods(
        (count, amounts.amounts_of(each, subject)) for count, each in together
    )


def _room(kind: str, spec: Value, resource: str) -> int | None:
    """What a queue can have of a resource, in billionths."""
    if kind == names.VOLCANO_QUEUE:
        return amounts.read_amount(spec.at("capability", resource))
    word, unit = _KAI_UNITS.get(resource, ("", 0))
    most = spec.at("resources", word, "limit").number()
    return most * unit if most is not None and most >= 0 else None


_PODS: Final = "pods"
Pods = tuple[Pod, ...]
"""A replicated job by itself, all of a job's together, or none for its PodGroup."""


class QuotaFits(Parameters):
    """What Kueue's own configuration changes."""

    ignore: tuple[str, ...] = ()
    """Beginnings of resource names that Kueue leaves out, as in `excludeResourcePrefixes`."""
    device_classes: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The DeviceClasses whose devices count as a resource, by its name, as in `deviceClassMappings`."""


def _places(subject: Subject) -> Iterator[Pods]:
    every = tuple(pods.pods_of(subject))
    yield from ((each,) for each in every)
    if len(every) > 1:
        yield every
    yield ()


def _check(place: Pods, context: Context[QuotaFits]) -> Iterator[Finding]:
    patches.be_known(context.subject)
    if place:
        yield from _of_kueue(place, context)
        return
    short = _of_others(context.subject, context.world)
    members = () if short is None else nodes.pods_together(context.subject)
    if short is not None and members:
        yield _finding(members, short, context)


def _of_kueue(place: Pods, context: Context[QuotaFits]) -> Iterator[Finding]:
    queue = queue_objects.cluster_queue(context.subject, context.world)
    if queue is None:
        return
    groups = queue_objects.groups(queue, context.world)
    if len(place) == 1:
        # Resources of no resource group: Kueue never admits who asks for them.
        pod = place[0]
        covered = {resource for group in groups for resource in group.covered}
        for resource in _asked(pod, context) if nodes.count(pod) else ():
            if resource not in covered and resource != _PODS:
                what = f"is a resource for which ClusterQueue {queue.name} has no quota"
                fix = f"do not ask for it, or add {resource} to a resource group of the queue"
                yield amounts.place(pod, resource).finding(what, resource, fix)
    for group in groups:
        found = (_of_one if len(place) == 1 else _of_all)(place, queue, group, context)
        if found is not None:
            yield _finding(place, found, context)


def _of_one(
    place: Pods, queue: Subject, group: Group, context: Context[QuotaFits]
) -> Shortage | None:
    """What a replicated job lacks in the flavor that has most of it; None where one suffices."""
    (pod,) = place
    asked = _total(place, group.covered, context)
    found: list[Shortage] = []
    for flavor in queue_objects.usable_flavors(group, pod) if asked else ():
        rooms = {
            each: quota.most(queue, flavor.name, each, context.world, enough=asked[each])
            for each in asked
        }
        short = [
            Shortage(each, asked[each], room, _limit(queue, each, room, flavor.name))
            for each, room in rooms.items()
            if room is not None and room < asked[each]
        ]
        if not short:
            return None
        found.append(short[0])
    return max(found, key=lambda each: each.room, default=None)


def _of_all(
    place: Pods, queue: Subject, group: Group, context: Context[QuotaFits]
) -> Shortage | None:
    """What all replicated jobs together lack, though each of them would find its place."""
    for resource, asked in _total(place, group.covered, context).items():
        own = [_total((each,), (resource,), context).get(resource, 0) for each in place]
        users = [pod for pod, amount in zip(place, own, strict=True) if amount]
        flavors = {each.name for pod in users for each in queue_objects.usable_flavors(group, pod)}
        rooms = [
            quota.most(queue, each, resource, context.world, enough=asked)
            for each in sorted(flavors)
        ]
        room = sum(each for each in rooms if each is not None)
        if rooms and None not in rooms and max(own) <= room < asked:
            limit = _limit(queue, resource, room, " and ".join(sorted(flavors)))
            return Shortage(resource, asked, room, limit)
    return None


def _limit(queue: Subject, resource: str, room: int, flavors: str) -> str:
    most = amounts.amount_text(resource, room)
    return f"ClusterQueue {queue.name} can give at most {most} in {flavors}, borrowing all it may"


def _finding(place: Pods, short: Shortage, context: Context[QuotaFits]) -> Finding:
    """At the number of pods; at what one pod asks for where that is too much already."""
    resource, subject = short.resource, context.subject
    own = {id(each): _asked(each, context).get(resource, 0) for each in place}
    pod = max(place, key=lambda each: own[id(each)] * nodes.count(each))
    one = own[id(pod)]
    whole = amounts.amount_text(resource, short.asked)
    what = f"makes {whole} {resource} in all, and {short.limit}"
    if one > short.room or not one:
        fix = f"ask for at most {amounts.amount_text(resource, short.room)}, or raise the limit"
        got = amounts.amount_text(resource, one)
        return amounts.place(pod, resource).finding(what, got, fix)
    others = short.asked - one * nodes.count(pod)
    most = max(0, short.room - others) // one
    fix = f"use at most {nodes.pods_text(most)}, or raise the limit"
    return nodes.count_place(pod, subject).finding(what, nodes.count(pod), fix)


def _total(place: Pods, covered: Collection[str], context: Context[QuotaFits]) -> dict[str, int]:
    """What all pods ask for of the covered resources."""
    asked = ((pod, _asked(pod, context)) for pod in place)
    own = ((pod, {name: each[name] for name in each if name in covered}) for pod, each in asked)
    found = amounts.sum_of_pods((nodes.count(pod), each) for pod, each in own if each)
    return {resource: each for resource, each in found.items() if each > 0}


def _asked(pod: Pod, context: Context[QuotaFits]) -> dict[str, int]:
    """What one pod asks for, itself as one of `pods`, without what Kueue leaves out."""
    found = amounts.amounts_of(pod, context.subject) | {_PODS: amounts.ONE}
    classes = context.parameters.device_classes
    claimed = amounts.claimed_devices(pod, context.subject, context.world) if classes else {}
    for name, members in classes.items():
        devices = sum(claimed.get(each, 0) for each in members)
        if devices:
            found[name] = found.get(name, 0) + devices * amounts.ONE
    ignore = context.parameters.ignore
    return {name: each for name, each in found.items() if not name.startswith(ignore)}


RULE: Final = Rule(
    id="quota-fits",
    title="A job must fit into the quota of its queue",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING - names.RUNTIMES,
    tags=("scheduling", "kueue", "volcano", "gpu"),
    why="Kueue never admits a job that asks for more than its queue can ever have: it waits forever.",
    fix="Request less, or raise the queue's quota, borrowingLimit or capability.",
    places=_places,
    check=_check,
    looks_around=True,
    parameters=QuotaFits,
)
