"""topology-fits: the topology level that pods require exists, and one domain of it holds them all.

The level is that of `kueue.x-k8s.io/podset-required-topology`, or of our own annotation, which
renders to it. Levels are those of the Topologies of the queue's flavors; how many machines a domain
has is what pools declare. A domain of `kubernetes.io/hostname` is one machine.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, lookup, machines, nodes, queue_objects
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    # Where the level is named.
    rendered = place.template.at("metadata", "annotations", names.KUEUE_REQUIRED_TOPOLOGY)
    own = context.subject.object.at("metadata", "annotations", names.REQUIRED_TOPOLOGY)
    level = own if rendered.is_there() and own.raw == rendered.raw else rendered
    if not level.text():
        return
    levels = _levels(context)
    if levels is not None and level.text() not in levels:
        what = "is not a level of a topology that the queue's flavors have"
        fix = f"use {' or '.join(levels)}" if levels else "give a flavor a topologyName"
        yield level.finding(what, level.text(), fix)
        return
    room = _room(place, level.text(), context)
    count = nodes.count(place)
    if room is not None and 0 < room < count:
        what = f"makes more pods than the {room} that find place in one domain of {level.text()}"
        fix = f"use at most {room} pods, or require a higher level"
        yield nodes.count_place(place, context.subject).finding(what, count, fix)


def _levels(context: Context[Parameters]) -> Sequence[str] | None:
    """The levels that there are; None where they are not all known."""
    flavors = queue_objects.flavors(context.subject, context.world)
    if flavors is None:
        return None
    found: dict[str, None] = {}
    for each in flavors:
        name = each.spec["topologyName"].text()
        topology = lookup.find_object(context.world, names.KUEUE_TOPOLOGY, name) if name else None
        if name and topology is None:
            return None
        if topology is not None:
            levels = lookup.items(topology.object.at("spec", "levels"))
            found |= dict.fromkeys(level["nodeLabel"].text() for level in levels)
    return tuple(found)


def _room(pod: Pod, level: str, context: Context[Parameters]) -> int | None:
    """How many pods find place in the best domain; None where that is not known."""
    asked, every = amounts.amounts_of(pod, context.subject), context.world.pools
    found = [
        _in_domain(pool, level, machines.per_machine(pool, asked, every))
        for pool in machines.usable_pools(pod, asked, context.subject, context.world)
    ]
    known = [each for each in found if each is not None]
    return max(known, default=None) if len(known) == len(found) else None


def _in_domain(pool: Pool, level: str, per_machine: int | None) -> int | None:
    count = 1 if level == queue_objects.HOSTNAME else pool.topology.get(level)
    if per_machine == 0:
        return 0
    return None if count is None or per_machine is None else min(count, pool.nodes) * per_machine


RULE: Final = Rule(
    id="topology-fits",
    title="A required topology exists and holds all pods",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("scheduling", "kueue", "topology"),
    why="A required topology is not a wish: Kueue never admits a job for which no domain is big enough.",
    fix="Name a level of the Topology, use fewer nodes, or ask for the level as a preference.",
    places=pods.pods_of,
    check=_check,
    looks_around=True,
)
