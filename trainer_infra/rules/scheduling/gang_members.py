"""A PodGroup that pods join waits for no more pods than there are."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, nodes
from trainer_infra.rules.rule import Finding, Subject, Value, World

_MARKS: Final = {
    "scheduling.x-k8s.io": ("labels", names.COSCHEDULING_GROUP_LABEL),
    "scheduling.volcano.sh": ("annotations", names.VOLCANO_GROUP_ANNOTATION),
}
"""By API group of a PodGroup, what its pods have."""


def too_few(subject: Subject, world: World) -> Iterator[Finding]:
    """Groups that wait for more pods than the object makes, as far as no other object joins them."""
    for api_group, mark in _MARKS.items():
        members: dict[str, list[tuple[Value, int]]] = {}
        for pod in pods.pods_of(subject):
            joined = pod.template.at("metadata", *mark)
            if joined.is_there():
                members.setdefault(joined.text(), []).append((joined, nodes.count(pod)))
        for name, found in members.items():
            kind = f"{names.POD_GROUP}.{api_group}"
            group = lookup.find_object(world, kind, name, subject.namespace)
            least = None if group is None else group.object.at("spec", "minMember").number()
            count = sum(each for _, each in found)
            if least is not None and least > count and not _joined_by(subject, world, mark, name):
                what = f"joins a PodGroup that waits for {least} pods, and the job has {count}"
                yield found[0][0].finding(what, name, f"write minMember: {count}")


def _joined_by(subject: Subject, world: World, mark: tuple[str, str], name: str) -> bool:
    """Whether another object has, or may have, pods in the group."""
    others = (each for kind in pods.COMPUTING for each in world.of_kind(kind, subject.namespace))
    own = (subject.kind, subject.name)
    found = (each for each in others if (each.kind, each.name) != own)
    joined = (pod.template.at("metadata", *mark) for each in found for pod in pods.pods_of(each))
    return any(each.is_noted() or each.raw == name for each in joined)
