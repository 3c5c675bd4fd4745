"""ResourceQuotas and LimitRanges of a namespace: what they count, and what they add to pods.

Facts: Kubernetes' pkg/quota/v1/evaluator/core/pods.go and plugin/pkg/admission/limitranger (1.34). A
scope that cannot be decided makes a quota count nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import amounts, lookup
from trainer_infra.rules.placement.amounts import Amounts
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Subject, Value, World
from trainer_infra.rules.value import is_mapping
from trainer_infra.rules.world import NOWHERE

NATIVE: Final = ("cpu", "memory")
"""Resources of which each container must say what it needs where a quota counts them."""
PARTS: Final = ("requests", "limits")
_ADDED: Final = {"requests": ("defaultRequest", "min"), "limits": ("default", "max")}
"""Fields of a LimitRange that give a request or a limit to containers which have none; a limit is a request too."""


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that the pods of a namespace may use together."""

    hard: Amounts
    """By the quota's own names."""
    name: str = ""
    """That of its ResourceQuota; empty where a configuration has it."""
    scopes: tuple[tuple[str, str, frozenset[str]], ...] = ()
    """Names, operators and values of what the pods must be like that it counts."""

    def counts(self, pod: Pod | None) -> bool:
        """Whether it surely counts a pod, by its scopes; None stands for objects of other kinds."""
        return all(pod is not None and _is_in(pod, *each) for each in self.scopes)


def quotas(subject: Subject, world: World) -> tuple[Quota, ...]:
    """The ResourceQuotas of the object's namespace; where it says none, those that say none either.

    Raises:
        UnseenValue: A namespace is not known.
    """
    found = _known(world.of_kind(names.RESOURCE_QUOTA, subject.namespace), subject)
    return tuple(world.once(_quota, each.object) for each in found)


def ranges(subject: Subject, world: World, of: str = "") -> Iterator[Value]:
    """The limits of the LimitRanges that may be in the object's namespace, of one type or of any.

    Raises:
        UnseenValue: A namespace, or a part of a LimitRange, is not known.
    """
    for where in dict.fromkeys((subject.namespace, NOWHERE)):
        for each in _known(world.of_kind("LimitRange", where), subject):
            for limits in lookup.items(each.object.at("spec", "limits")):
                if of in ("", limits["type"].text()):
                    yield limits


def _known(found: tuple[Subject, ...], subject: Subject) -> tuple[Subject, ...]:
    for each in (subject, *found) if found else ():
        each.object.at("metadata", "namespace").is_there()
    return found


def _quota(_world: World, quota: Value) -> Quota:
    spec = quota["spec"]
    hard = {name: amounts.read_amount(each) for name, each in spec["hard"].fields()}
    scopes = [(each.text(), "Exists", frozenset[str]()) for each in lookup.items(spec["scopes"])]
    for each in lookup.items(spec.at("scopeSelector", "matchExpressions")):
        values = frozenset(one.text() for one in lookup.items(each["values"]))
        scopes.append((each["scopeName"].text(), each["operator"].text(), values))
    known = {name: each for name, each in hard.items() if each is not None}
    return Quota(known, quota.at("metadata", "name").text(), tuple(scopes))


def _is_in(pod: Pod, scope: str, operator: str, values: frozenset[str]) -> bool:
    if scope in ("Terminating", "NotTerminating"):
        return pod.spec["activeDeadlineSeconds"].is_there() == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        holders = [each["resources"] for each in (pod.spec, *amounts.containers(pod))]
        places = [each.at(part, name) for each in holders for part in PARTS for name in NATIVE]
        return any(each.is_there() for each in places) == (scope == "NotBestEffort")
    called = pod.spec["priorityClassName"].text()
    if scope != "PriorityClass" or not called:
        # A pod that names no class may get one.
        return False
    if operator in ("In", "NotIn"):
        return (called in values) == (operator == "In")
    return operator == "Exists"


def needs(
    container: Value, pod: Pod, subject: Subject, world: World, part: str = "requests"
) -> list[Value]:
    """Where it may stand what a container requests, or is limited to: in it, its pod, or a LimitRange."""
    parts = PARTS if part == "requests" else (part,)
    places = [one.at("resources", each) for one in (container, pod.spec) for each in parts]
    for limits in ranges(subject, world, "Container"):
        places += [limits[field] for each in parts for field in _ADDED[each]]
    return places


def usage(pod: Pod, subject: Subject, world: World) -> Amounts:
    """What a pod uses of a quota, by the quota's own names; its own claims count with it."""
    found = {"pods": amounts.ONE, "count/pods": amounts.ONE, **storage(own_claims(pod))}
    for device, count in amounts.claimed_devices(pod, subject, world).items():
        found[f"{device}.deviceclass.resource.k8s.io/devices"] = count * amounts.ONE
    for name, each in amounts.amounts_of(pod, subject).items():
        found[f"requests.{name}"] = each
        if "/" not in name:
            found[name] = each
    for name, each in amounts.limits_of(pod, subject).items():
        if "/" not in name:
            found[f"limits.{name}"] = each
    return found


def own_claims(pod: Pod) -> Iterator[Value]:
    """The specs of the claims that each pod makes for itself."""
    for volume in pod.spec["volumes"].items():
        template = volume.at("ephemeral", "volumeClaimTemplate")
        if is_mapping(template.raw):
            yield template["spec"]


def storage(claims: Iterable[Value]) -> Amounts:
    """What claims use of a quota; nothing where there are none."""
    sizes = [amounts.read_amount(each.at("resources", "requests", "storage")) for each in claims]
    counted = ("persistentvolumeclaims", "count/persistentvolumeclaims")
    found = dict.fromkeys(counted, len(sizes) * amounts.ONE)
    return found | {"requests.storage": sum(each or 0 for each in sizes)} if sizes else {}
