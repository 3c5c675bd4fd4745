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

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.rules.placement import amounts, kueue, lookup
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value
from trainer_infra.rules.world import World

Key = tuple[str, str]
"""Kind and name of a ClusterQueue or Cohort."""
Tree = Mapping[Key, Sequence[Key]]
"""Members of each cohort."""


@dataclass(frozen=True, slots=True)
class Node:
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
    """The most that there can be, in billionths; None where there is no bound that is known.

    Args:
        queue: The ClusterQueue.
        flavor: The flavor's name.
        resource: The resource.
        world: Where the other members of its cohort are.
        enough: Where its own quota is this much that is the answer, and the cohort is not read.

    Raises:
        Unseen: Something of it is not known.
    """
    own = _node(queue, flavor, resource)
    if (enough is not None and own.nominal >= enough) or not kueue.cohort(queue).text():
        return own.nominal
    if not world.is_whole:
        return None if own.borrowing is None else own.nominal + own.borrowing
    above = ancestors(queue, world)
    if above is None:
        return None
    return _in_cohort((_key(queue), *above), flavor, resource, world)


def ancestors(subject: Subject, world: World) -> tuple[Key, ...] | None:
    """The cohorts above, the nearest first; None where they go round in a circle.

    Raises:
        Unseen: One of their names is not known.
    """
    found: list[Key] = []
    here: Subject | None = subject
    while here is not None and (name := kueue.cohort(here).text()):
        key = (names.COHORT, name)
        if key in found or key == _key(subject):
            return None
        found.append(key)
        here = lookup.find(world, *key)
    return tuple(found)


def _in_cohort(path: Sequence[Key], flavor: str, resource: str, world: World) -> int:
    """The most at the first of a path of nodes, the last of which has no parent."""
    below: dict[Key, list[Key]] = defaultdict(list)
    nodes: dict[Key, Node] = defaultdict(Node)
    for each in kueue.members(world):
        nodes[_key(each)] = _node(each, flavor, resource)
        below[names.COHORT, kueue.cohort(each).text()].append(_key(each))
    subtrees = _subtrees(path[-1], below, nodes)
    found = subtrees[path[-1]]
    for key in reversed(path[:-1]):
        node, subtree = nodes[key], subtrees[key]
        found = node.limited(subtree, node.kept(subtree) + found)
    return found


def _subtrees(root: Key, below: Tree, nodes: Mapping[Key, Node]) -> dict[Key, int]:
    order = [root]
    for each in order:
        order.extend(below.get(each, ()))
    found: dict[Key, int] = {}
    for each in reversed(order):
        lent = (found[child] - nodes[child].kept(found[child]) for child in below.get(each, ()))
        found[each] = nodes[each].nominal + sum(lent)
    return found


def _node(subject: Subject, flavor: str, resource: str) -> Node:
    for group in lookup.items(subject.object.at("spec", "resourceGroups")):
        for quotas in lookup.items(group["flavors"]):
            if quotas["name"].text() == flavor:
                found = kueue.quota(quotas, resource)
                if found is not None:
                    return _read(found)
    return Node()


def _read(quota: Value) -> Node:
    nominal = amounts.read(quota["nominalQuota"])
    limits = (amounts.read(quota[each]) for each in ("borrowingLimit", "lendingLimit"))
    borrowing, lending = limits
    return Node(nominal or 0, borrowing, lending)


def _key(subject: Subject) -> Key:
    return subject.kind, subject.name
