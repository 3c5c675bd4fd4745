"""The most that a ClusterQueue can ever give of a resource in one flavor: all others idle.

Arithmetic of Kueue 0.19 (pkg/cache/scheduler/resource_node.go, potentialAvailable), in own words:

- A ClusterQueue's subtree has its nominalQuota. A Cohort's has its own nominalQuota and what its
  children lend: a child's subtree, at most its lendingLimit.
- What a node keeps is what it does not lend: its subtree less its lendingLimit; nothing without one.
- A node without a parent can have its subtree. Another one can have what it keeps and all that its
  parent can have, at most its subtree and its borrowingLimit.

Cohorts need no object of their own. Who else is in one is known only where the world is whole: a
borrowingLimit is the one bound otherwise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.rules.placement import amounts, lookup, queue_objects
from trainer_infra.rules.rule import Subject, Value, World

Key = Value | str
"""A ClusterQueue's object, or the name of a Cohort."""


@dataclass(frozen=True, slots=True)
class QuotaNode:
    """What a ClusterQueue or Cohort says of one resource in one flavor."""

    nominal: int = 0
    """Its own quota."""
    borrowing: int | None = None
    """Most that it may have besides its subtree."""
    lending: int | None = None
    """Most that others may have of its subtree."""

    def kept(self, subtree: int) -> int:
        """What it does not lend."""
        return 0 if self.lending is None else max(0, subtree - self.lending)

    def limited(self, subtree: int, found: int) -> int:
        """At most what it may borrow."""
        return found if self.borrowing is None else min(found, subtree + self.borrowing)


def most(
    queue: Subject, flavor: str, resource: str, world: World, enough: int | None = None
) -> int | None:
    """The most of a ClusterQueue, in billionths; None where there is no bound that is known.

    Where its own quota is `enough` that is the answer, and the cohort is not read.
    """
    own = world.once(_node, queue.object, flavor, resource)
    if (enough is not None and own.nominal >= enough) or not queue_objects.cohort(queue).text():
        return own.nominal
    if not world.is_whole:
        return None if own.borrowing is None else own.nominal + own.borrowing
    return world.once(_in_cohorts, flavor, resource).get(queue.object)


def _in_cohorts(world: World, flavor: str, resource: str) -> Mapping[Key, int]:
    """The most of each ClusterQueue and Cohort, but for those below cohorts that go round."""
    below = world.once(_below)
    nodes = {
        _key(each): world.once(_node, each.object, flavor, resource)
        for each in queue_objects.members(world)
    }
    inner = {each for members in below.values() for each in members}
    order = [each for each in {**below, **nodes} if each not in inner]
    for each in order:
        order.extend(below.get(each, ()))
    subtrees: dict[Key, int] = {}
    for each in reversed(order):
        members = below.get(each, ())
        lent = (subtrees[member] - nodes[member].kept(subtrees[member]) for member in members)
        subtrees[each] = nodes.get(each, QuotaNode()).nominal + sum(lent)
    found = {each: subtrees[each] for each in order if each not in inner}
    for each in order:
        for member in below.get(each, ()):
            node, subtree = nodes[member], subtrees[member]
            found[member] = node.limited(subtree, node.kept(subtree) + found[each])
    return found


def _below(world: World) -> Mapping[Key, Sequence[Key]]:
    """Members of each cohort, all of which have one cohort above them at most."""
    above = {_key(each): queue_objects.cohort(each).text() for each in queue_objects.members(world)}
    found: dict[Key, list[Key]] = {}
    for key, cohort in above.items():
        if cohort:
            found.setdefault(cohort, []).append(key)
    return found


def _node(_world: World, member: Value, flavor: str, resource: str) -> QuotaNode:
    for group in lookup.items(member.at("spec", "resourceGroups")):
        for quotas in lookup.items(group["flavors"]):
            if quotas["name"].text() == flavor:
                found = lookup.item_named(quotas["resources"], resource)
                if found is not None:
                    limits = (found[each] for each in ("borrowingLimit", "lendingLimit"))
                    nominal = amounts.read_amount(found["nominalQuota"]) or 0
                    return QuotaNode(nominal, *map(amounts.read_amount, limits))
    return QuotaNode()


def _key(subject: Subject) -> Key:
    is_queue = subject.kind == names.CLUSTER_QUEUE
    return subject.object if is_queue else subject.object.at("metadata", "name").text()
