"""ResourceQuotas and LimitRanges of a namespace: what they count, and what they add to pods.

Facts: Kubernetes' pkg/quota/v1/evaluator/core/pods.go and plugin/pkg/admission/limitranger (1.34). A
scope that cannot be decided makes a quota count nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import amounts, lookup
from trainer_infra.rules.placement.amounts import Amounts
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Subject, Value, World

LIMIT_RANGE: Final = "LimitRange"
NATIVE: Final = ("cpu", "memory")
"""Resources of which each container must say what it needs where a quota counts them."""
_ADDED: Final = ("defaultRequest", "default", "max", "min")
"""Fields of a LimitRange that give containers a request which have none; the first two of these also a limit."""
_OF_DEFAULT: Final = ("default", "max")


def ranges(subject: Subject, world: World, of: str) -> Iterator[Value]:
    """The limits of that type (`Container`, `Pod`) of the object's namespace."""
    for each in world.of_kind(LIMIT_RANGE, subject.namespace) if subject.namespace else ():
        for limits in lookup.items(each.object.at("spec", "limits")):
            if limits["type"].text() == of:
                yield limits


def defaults(subject: Subject, world: World, *, of_limits: bool = False) -> list[Value]:
    """Where LimitRanges say what containers get that ask for nothing: requests, or limits."""
    fields = _OF_DEFAULT if of_limits else _ADDED
    found = ranges(subject, world, "Container")
    return [limits[each] for limits in found for each in fields]


def usage(pod: Pod, subject: Subject) -> Amounts:
    """What a pod uses of a quota, by the quota's own names."""
    found = {"pods": amounts.ONE, "count/pods": amounts.ONE}
    for name, each in amounts.amounts_of(pod, subject).items():
        found[f"requests.{name}"] = each
        if "/" not in name:
            found[name] = each
    for name, each in amounts.limits_of(pod, subject).items():
        if "/" not in name:
            found[f"limits.{name}"] = each
    return found


def counts(quota: Subject, pod: Pod) -> bool:
    """Whether a ResourceQuota surely counts a pod, by its scopes."""
    spec = quota.object["spec"]
    terms = lookup.items(spec.at("scopeSelector", "matchExpressions"))
    scopes = [(each.text(), "Exists", frozenset[str]()) for each in lookup.items(spec["scopes"])]
    scopes += [
        (each["scopeName"].text(), each["operator"].text(), frozenset(each["values"].texts()))
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


def jobs_of(jobsets: tuple[Value, ...]) -> Mapping[str, int]:
    """Objects that JobSets make, by the names under which quotas count them."""
    replicas = [
        1 if job["replicas"].number() is None else job["replicas"].number() or 0
        for spec in jobsets
        for job in spec["replicatedJobs"].items()
    ]
    return {
        "count/jobs.batch": sum(replicas),
        "count/jobsets.jobset.x-k8s.io": len(jobsets),
    }


def quotas(subject: Subject, world: World) -> tuple[Subject, ...]:
    """The ResourceQuotas of the object's namespace."""
    return world.of_kind(names.RESOURCE_QUOTA, subject.namespace) if subject.namespace else ()
