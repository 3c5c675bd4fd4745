"""flavor-pools: flavors and quotas are those of declared machines.

A flavor's pools are those whose labels are its nodeLabels; a label that no pool declares is not
judged. Quotas may be more than there is on purpose, so this is advice, not proof.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from trainer_infra import names
from trainer_infra.rules.placement import amounts, lookup, machines, node_constraints, queue_objects
from trainer_infra.rules.placement.queue_objects import Flavor
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

Place: TypeAlias = Subject | Value
"""A ResourceFlavor, or a flavor of a ClusterQueue's resource group."""


class FlavorPools(Parameters):
    """What is not a machine's."""

    ignore: tuple[str, ...] = ("pods",)
    """Resources that are counted in quotas and that no machine has, for example licences."""


def _places(subject: Subject) -> Iterator[Place]:
    if subject.kind == names.RESOURCE_FLAVOR:
        yield subject
        return
    yield from (flavor for _, flavor in queue_objects.quotas(subject))


def _check(place: Place, context: Context[FlavorPools]) -> Iterator[Finding]:
    pools = context.world.pools
    if not pools:
        return
    if isinstance(place, Value):
        yield from _of_quotas(place, context)
        return
    flavor = Flavor(place.object, place.name, place)
    found = _pools(flavor, pools)
    if found:
        yield from _of_taints(flavor, found)
        yield from _of_topology(flavor, found, context)
        return
    what = "are the labels of no declared pool"
    pool = " or ".join(each.name for each in pools[:3])
    yield flavor.spec["nodeLabels"].finding(what, flavor.labels, f"write those of pool {pool}")


def _of_quotas(quotas: Value, context: Context[FlavorPools]) -> Iterator[Finding]:
    name = quotas["name"].text()
    subject = lookup.find_object(context.world, names.RESOURCE_FLAVOR, name)
    if subject is None:
        return
    pools = _pools(Flavor(quotas, name, subject), context.world.pools)
    for each in lookup.items(quotas["resources"]) if pools else ():
        resource = each["name"].text()
        nominal = amounts.read_amount(each["nominalQuota"])
        there = _there(resource, pools, context)
        if there is not None and nominal is not None and nominal > there:
            room = amounts.amount_text(resource, there)
            what = f"is more {resource} than pool {', '.join(pool.name for pool in pools)} has"
            got = amounts.amount_text(resource, nominal)
            yield each["nominalQuota"].finding(what, got, f"write at most {room}, or add machines")


def _of_taints(flavor: Flavor, pools: Sequence[Pool]) -> Iterator[Finding]:
    """A taint of the machines of which Kueue does not know, so that it admits what never starts."""
    written = {(each.key, each.effect) for each in flavor.taints}
    others = (
        [each for each in pool.taints if (each.key, each.effect) not in written] for pool in pools
    )
    missing = [node_constraints.untolerated_taint(each, flavor.tolerations) for each in others]
    first = missing[0]
    if first is not None and None not in missing:
        text = f"{first.key}={first.value}:{first.effect}"
        what = f"lack the taint {text} that the machines of pool {pools[0].name} have"
        fix = "write it in nodeTaints, or tolerate it in tolerations"
        yield flavor.spec["nodeTaints"].finding(what, fix=fix)


def _of_topology(
    flavor: Flavor, pools: Sequence[Pool], context: Context[FlavorPools]
) -> Iterator[Finding]:
    """A level of the topology that the machines, as far as they declare domains, do not have."""
    value = flavor.spec["topologyName"]
    if not all(each.topology for each in pools):
        return
    for label in queue_objects.topology_levels(flavor, context.world) or ():
        lacking = [each.name for each in pools if label not in {*each.topology, *each.labels}]
        if lacking and label != queue_objects.HOSTNAME:
            what = f"has the level {label}, which the machines of pool {lacking[0]} do not have"
            yield value.finding(what, value.text(), "label the machines, or use another Topology")


def _pools(flavor: Flavor, among: Sequence[Pool]) -> tuple[Pool, ...]:
    known = {label for pool in among for label in pool.labels}
    labels = {key: each for key, each in flavor.labels.items() if key in known}
    return tuple(each for each in among if labels.items() <= each.labels.items())


def _there(resource: str, pools: Sequence[Pool], context: Context[FlavorPools]) -> int | None:
    """What all machines of the pools have, in billionths; None where that is not judged."""
    every = context.world.pools
    is_declared = any(resource in each.capacity for each in every)
    is_machines = is_declared or resource in amounts.OF_DEVICE_PLUGINS
    if resource in context.parameters.ignore or not is_machines:
        # Device classes of DRA and virtual resources are called as their owner likes.
        return None
    return machines.amount_of_all(pools, resource, every)


RULE: Final = Rule(
    id="flavor-pools",
    title="Flavors and quotas must match the declared pools",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.RESOURCE_FLAVOR, names.CLUSTER_QUEUE, names.COHORT)),
    tags=("scheduling", "kueue", "gpu", "cost"),
    why=(
        "Kueue admits by flavors and quotas: a job for which the machines have no room, or whose "
        "pods they do not accept, is admitted and then waits while it holds its quota."
    ),
    fix="Set labels, taints and quotas as the pool has them.",
    places=_places,
    check=_check,
    looks_around=True,
    parameters=FlavorPools,
)
