"""Objects that other objects name: found, not found, or nowhere.

A tree seldom has everything that is in a cluster. So what it does not have is nowhere only where
the world is whole, or where the tree defines objects of the very kind (in the same namespace): a
tree with one LocalQueue of a namespace is where the queues of that namespace are kept.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.rule import Subject, Value, World
from trainer_infra.rules.value import ABSENT, UNKNOWN, Root
from trainer_infra.rules.world import NOWHERE

CLAIM: Final = "PersistentVolumeClaim"
VOLUME: Final = "PersistentVolume"
STORAGE_CLASS: Final = "StorageClass"
CLAIM_TEMPLATE: Final = "ResourceClaimTemplate"
_GROUPS: Final = {
    **dict.fromkeys(names.KUEUE_KINDS, names.KUEUE_GROUP),
    names.PRIORITY_CLASS: "scheduling.k8s.io",
    **dict.fromkeys((names.NAMESPACE, CLAIM, VOLUME), "v1"),
    **dict.fromkeys(("ConfigMap", "Secret", "ServiceAccount"), "v1"),
    STORAGE_CLASS: "storage.k8s.io",
    CLAIM_TEMPLATE: "resource.k8s.io",
    names.VOLCANO_QUEUE: names.VOLCANO_API_VERSION.partition("/")[0],
}
"""API groups of the kinds that are looked for; others have kinds of the same names. The core group has
only a version. A kind of another group is looked for by its full name, `Queue.scheduling.run.ai`."""


def items(value: Value) -> Iterator[Value]:
    """The items of a list that a proof needs whole.

    Raises:
        UnseenValue: It is not known.
    """
    value.is_there()
    return value.items()


def labels_of(holder: Value) -> dict[str, str]:
    """The labels of an object or a pod template, which a proof needs whole.

    Raises:
        UnseenValue: They are not known.
    """
    written = holder.at("metadata", "labels")
    written.is_there()
    return {key: each.text() for key, each in written.fields()}


def item_named(listed: Value, name: str) -> Value | None:
    """The item of that name in a list that a proof needs whole; None where there is none."""
    return next((each for each in items(listed) if each["name"].text() == name), None)


def claim_templates(jobset: Value) -> Iterator[tuple[str, Value]]:
    """Names and specs of the claims that a JobSet makes by its volumeClaimPolicies."""
    for policy in items(jobset["volumeClaimPolicies"]):
        for template in items(policy["templates"]):
            yield template.at("metadata", "name").text(), template["spec"]


def mounted_volumes(pod_spec: Value) -> Iterator[str]:
    """Names of the volumes that the containers of a pod mount."""
    for key in ("initContainers", "containers"):
        for container in items(pod_spec[key]):
            yield from (mount["name"].text() for mount in items(container["volumeMounts"]))


def places_near(namespace: str) -> tuple[str | None, ...]:
    """Where objects are that may be in a namespace, also those that do not say where they are."""
    return (namespace, NOWHERE) if namespace else (None,)


def all_of(world: World, kind: str, namespace: str = NOWHERE) -> Iterator[Subject]:
    """The objects of a kind; of those with a namespace the ones that may be in that one."""
    word = kind.partition(".")[0]
    for where in places_near(namespace):
        yield from (each for each in world.of_kind(word, where) if _is_of_its_group(each, kind))


def find_object(world: World, kind: str, name: str, namespace: str = NOWHERE) -> Subject | None:
    """The object of that name, in the namespace where both say one."""
    for where in (namespace, NOWHERE) if namespace else (NOWHERE, None):
        for each in world.named(kind.partition(".")[0], name, where):
            if _is_of_its_group(each, kind):
                return each
    return None


def spec_of(world: World, kind: str, name: str, namespace: str = NOWHERE) -> Value:
    """The spec of the object of that name; absent where there is none, or it is named nowhere.

    Raises:
        UnseenValue: It is not known in which namespace the object is.
    """
    found = find_object(world, kind, name, namespace) if name else None
    if found is None:
        return Value(ABSENT, Root())
    found.object.at("metadata", "namespace").is_there()
    return found.object["spec"]


def fix_of_missing(world: World, kind: str, name: str, namespace: str = NOWHERE) -> str | None:
    """What to do where there is no such object; None where it may well be somewhere."""
    if find_object(world, kind, name, namespace) is not None:
        return None
    others = world.once(_names, kind, namespace)
    if others is None:
        return None
    known = f"name {' or '.join(others[:3])}, or add" if others else "add"
    return f"{known} {kind} {name}"


def _names(world: World, kind: str, namespace: str) -> tuple[str, ...] | None:
    """All of a kind in order; None where there may be more."""
    every = tuple(all_of(world, kind, namespace))
    is_unnamed = any(each.object.at("metadata", "name").raw is UNKNOWN for each in every)
    if is_unnamed or not (world.is_whole or every):
        return None
    return tuple(sorted({each.name for each in every} - {""}))


def _is_of_its_group(subject: Subject, kind: str) -> bool:
    wanted = kind.partition(".")[2] or _GROUPS.get(kind)
    return subject.object["apiVersion"].text().partition("/")[0] == wanted
