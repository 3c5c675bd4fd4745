"""ResourceQuotas and LimitRanges of a namespace: what they count, and what they add to pods.

Facts: Kubernetes' pkg/quota/v1/evaluator/core/pods.go and plugin/pkg/admission/limitranger (1.34). A
scope that cannot be decided makes a quota count nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import amounts, lookup
from trainer_infra.rules.placement.amounts import Amounts
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Subject, Value, World
from trainer_infra.rules.value import is_mapping

NATIVE: Final = ("cpu", "memory")
"""Resources of which each container must say what it needs where a quota counts them."""
_ADDED: Final = ("defaultRequest", "default", "max", "min")
"""Fields of a LimitRange that give containers a request which have none; the first two of these also a limit."""
_OF_DEFAULT: Final = ("default", "max")


def limit_ranges(subject: Subject, world: World) -> tuple[Subject, ...]:
    """The LimitRanges of the object's namespace, and those that do not say where they are."""
    places = lookup.places_near(subject.namespace) if subject.namespace else ()
    return tuple(one for where in places for one in world.of_kind("LimitRange", where))


def ranges(subject: Subject, world: World, of: str) -> Iterator[Value]:
    """The limits of that type (`Container`, `Pod`) of the object's namespace."""
    for each in limit_ranges(subject, world):
        for limits in lookup.items(each.object.at("spec", "limits")):
            if limits["type"].text() == of:
                yield limits


def defaults(subject: Subject, world: World, *, of_limits: bool = False) -> list[Value]:
    """Where LimitRanges say what containers get that ask for nothing: requests, or limits."""
    fields = _OF_DEFAULT if of_limits else _ADDED
    found = ranges(subject, world, "Container")
    return [limits[each] for limits in found for each in fields]


def usage(pod: Pod, subject: Subject, world: World) -> Amounts:
    """What a pod uses of a quota, by the quota's own names; its own claims count with it."""
    found = {"pods": amounts.ONE, "count/pods": amounts.ONE}
    claims = [each.at("ephemeral", "volumeClaimTemplate") for each in pod.spec["volumes"].items()]
    found |= storage(each["spec"] for each in claims if is_mapping(each.raw))
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


def storage(claims: Iterable[Value]) -> Amounts:
    """What claims use of a quota; nothing where there are none."""
    sizes = [amounts.read_amount(each.at("resources", "requests", "storage")) for each in claims]
    names_of = ("persistentvolumeclaims", "count/persistentvolumeclaims", "requests.storage")
    used = (len(sizes) * amounts.ONE, len(sizes) * amounts.ONE, sum(each or 0 for each in sizes))
    return dict(zip(names_of, used, strict=True)) if sizes else {}


def counts(quota: Subject, pod: Pod) -> bool:
    """Whether a ResourceQuota surely counts a pod, by its scopes."""
    spec = quota.object["spec"]
    terms = lookup.items(spec.at("scopeSelector", "matchExpressions"))
    scopes = [(each.text(), "Exists", frozenset[str]()) for each in lookup.items(spec["scopes"])]
    scopes += [
        (
            *(each["scopeName"].text(), each["operator"].text()),
            frozenset(one.text() for one in lookup.items(each["values"])),
        )
        for each in terms
    ]
    return all(_is_in(pod, *each) for each in scopes)


def _is_in(pod: Pod, scope: str, operator: str, values: frozenset[str]) -> bool:
    ends = pod.spec["activeDeadlineSeconds"].is_there()
    if scope in ("Terminating", "NotTerminating"):
        return ends == (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return _asks_nothing(pod) == (scope == "BestEffort")
    called = pod.spec["priorityClassName"].text()
    if scope != "PriorityClass" or not called:
        # A pod that names no class may get one.
        return False
    match operator:
        case "In" | "NotIn":
            return (called in values) == (operator == "In")
        case _:
            return operator == "Exists"


def _asks_nothing(pod: Pod) -> bool:
    """Whether no container says anything of cpu and memory."""
    holders = [pod.spec, *pod.spec["containers"].items(), *pod.spec["initContainers"].items()]
    parts = [each.at("resources", part) for each in holders for part in ("requests", "limits")]
    return not any(part[name].is_there() for part in parts for name in NATIVE)


def objects_of(jobsets: tuple[Value, ...]) -> Amounts:
    """What a quota counts of the Jobs and claims that JobSets make."""
    jobs = [job["replicas"].number() for spec in jobsets for job in spec["replicatedJobs"].items()]
    claims = (claim for spec in jobsets for _, claim in lookup.claim_templates(spec))
    made = {
        "count/jobs.batch": sum(1 if each is None else each for each in jobs) * amounts.ONE,
        "count/jobsets.jobset.x-k8s.io": len(jobsets) * amounts.ONE,
    }
    return made | storage(claims)


def quotas(subject: Subject, world: World) -> tuple[Subject, ...]:
    """The ResourceQuotas of the object's namespace."""
    return world.of_kind(names.RESOURCE_QUOTA, subject.namespace) if subject.namespace else ()
