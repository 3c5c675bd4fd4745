"""A PodGroup that pods join waits for no more pods than there are."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, nodes
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Finding, Subject, World

_MARKS: Final = {
    "scheduling.x-k8s.io": ("labels", names.COSCHEDULING_GROUP_LABEL),
    "scheduling.volcano.sh": ("annotations", names.VOLCANO_GROUP_ANNOTATION),
}
"""By API group of a PodGroup, what its pods have."""


def too_few(subject: Subject, world: World) -> Iterator[Finding]:
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
