"""Objects that other objects name: found, not found, or nowhere.

A tree seldom has everything that is in a cluster. So what it does not have is nowhere only where
the world is whole, or where the tree defines objects of the very kind (in the same namespace): a
tree with one LocalQueue of a namespace is where the queues of that namespace are kept.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import UNKNOWN, Value
from trainer_infra.rules.world import NOWHERE, World

_GROUPS: Final = {
    **dict.fromkeys(
        (
            names.LOCAL_QUEUE,
            names.CLUSTER_QUEUE,
            names.RESOURCE_FLAVOR,
            names.COHORT,
            names.ADMISSION_CHECK,
            names.KUEUE_TOPOLOGY,
        ),
        names.KUEUE_GROUP,
    ),
    names.VOLCANO_QUEUE: names.VOLCANO_API_VERSION.partition("/")[0],
}
"""API groups of the kinds that are looked for; others have kinds of the same names."""


def items(value: Value) -> Iterator[Value]:
    """The items of a list that a proof needs whole.

    Raises:
        Unseen: It is not known.
    """
    value.is_there()
    yield from value.items()


def all_of(world: World, kind: str, namespace: str = NOWHERE) -> Iterator[Subject]:
    """The objects of a kind; of those with a namespace the ones that may be in that one.

    Raises:
        Unseen: The API group of one is not known.
    """
    for each in world.of_kind(kind):
        near = not namespace or each.namespace in (namespace, NOWHERE)
        if near and _group(each) == _GROUPS.get(kind):
            yield each


def find(world: World, kind: str, name: str, namespace: str = NOWHERE) -> Subject | None:
    """The object of that name, in the namespace where both say one.

    Raises:
        Unseen: The API group of one of that kind is not known.
    """
    exact = world.get(kind, name, namespace)
    if exact is not None and _group(exact) == _GROUPS.get(kind):
        return exact
    return next((each for each in all_of(world, kind, namespace) if each.name == name), None)


def is_nowhere(world: World, kind: str, name: str, namespace: str = NOWHERE) -> bool:
    """Whether there is surely no such object.

    Raises:
        Unseen: The API group of one of that kind is not known.
    """
    if find(world, kind, name, namespace) is not None:
        return False
    others = tuple(all_of(world, kind, namespace))
    unnamed = any(each.object.at("metadata", "name").raw is UNKNOWN for each in others)
    return not unnamed and (world.is_whole or bool(others))


def _group(subject: Subject) -> str:
    return subject.object["apiVersion"].text().partition("/")[0]
