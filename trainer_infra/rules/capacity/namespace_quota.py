"""gpu-quota: the quotas and limits of a namespace, of GPUs and of all else, take the pods of a job."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, namespace_limits, nodes
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_REQUESTS: Final = "requests."
_PARTS: Final = (_REQUESTS, "limits.")


class GpuQuota(Parameters):
    """How much a job may ask for."""

    namespaces: dict[str, dict[str, str | int]] | None = None
    """By namespace, the most of each resource, `nvidia.com/gpu: 16`; None for ResourceQuotas alone."""


def _check(_place: Value, context: Context[GpuQuota]) -> Iterator[Finding]:
    subject = context.subject
    if not (subject.namespace and _has_limits(context)):
        return
    told: set[str] = set()
    for hard, members in _quotas(context):
        yield from _of_quota(hard, members, subject, told)
    yield from _of_objects(context)
    for pod in pods.pods_of(subject):
        yield from _of_containers(pod, context)


def _has_limits(context: Context[GpuQuota]) -> bool:
    subject, world = context.subject, context.world
    is_configured = subject.namespace in (context.parameters.namespaces or {})
    quotas = namespace_limits.quotas(subject, world)
    return is_configured or bool(quotas) or bool(namespace_limits.limit_ranges(subject, world))


Members = tuple[tuple[Pod, amounts.Amounts], ...]
"""The pods that a quota counts, with what each uses of it."""


def _quotas(context: Context[GpuQuota]) -> Iterator[tuple[amounts.Amounts, Members]]:
    """Each quota, of the parameter and of the objects, with the pods that it counts."""
    subject = context.subject
    together = nodes.pods_together(subject)
    every = tuple((pod, namespace_limits.usage(pod, subject, context.world)) for pod in together)
    configured = (context.parameters.namespaces or {}).get(subject.namespace, {})
    most = {name: amounts.configured_amount(each) for name, each in configured.items()}
    yield {_counted(name): each for name, each in most.items() if each is not None}, every
    for quota in namespace_limits.quotas(subject, context.world):
        written = quota.object.at("spec", "hard").fields()
        hard = {name: amounts.read_amount(each) for name, each in written}
        members = tuple(each for each in every if namespace_limits.counts(quota, each[0]))
        yield {name: each for name, each in hard.items() if each is not None}, members


def _counted(resource: str) -> str:
    return f"{_REQUESTS}{resource}" if "/" in resource and resource[:6] != "count/" else resource


def _of_quota(
    hard: amounts.Amounts, members: Members, subject: Subject, told: set[str]
) -> Iterator[Finding]:
    total = amounts.sum_of_pods((nodes.count(pod), each) for pod, each in members)
    for name, whole in total.items():
        most, resource = hard.get(name, whole), name.removeprefix(_REQUESTS)
        if whole > most and resource not in told:
            told.add(resource)
            yield _too_much(name, whole, most, members, subject)


def _too_much(name: str, whole: int, most: int, members: Members, subject: Subject) -> Finding:
    resource = name.removeprefix(_REQUESTS)
    pod, own = max(members, key=lambda each: each[1].get(name, 0))
    single, is_pods = own[name], name.endswith("pods")
    if single > most and not is_pods:
        where = amounts.place(pod, resource.removeprefix("limits."))
        fix = f"ask for at most {amounts.amount_text(resource, most)} of {resource}"
    else:
        where, each = nodes.count_place(pod, subject), amounts.amount_text(resource, single)
        of_each = "" if is_pods else f" of {each} {resource}"
        fix = f"use at most {most // single} nodes{of_each}"
    what = (
        f"makes {amounts.amount_text(resource, whole)} {resource} in all, more than the quota "
        f"of {amounts.amount_text(resource, most)} of namespace {subject.namespace}"
    )
    return where.finding(what, where.raw, fix)


def _of_objects(context: Context[GpuQuota]) -> Iterator[Finding]:
    """More Jobs, claims or objects of a kind than a quota lets be there."""
    subject = context.subject
    found = namespace_limits.objects_of(pods.jobsets(subject))
    if subject.kind == names.TRAIN_JOB:
        found[f"count/trainjobs.{names.GROUP}"] = amounts.ONE
    for quota in namespace_limits.quotas(subject, context.world):
        hard = quota.object.at("spec", "hard")
        for name, used in found.items():
            most = amounts.read_amount(hard[name])
            if most is not None and used > most:
                asked, there = (amounts.amount_text("memory", each) for each in (used, most))
                what = f"makes {asked} {name.removeprefix('count/')}, more than the {there} of quota {quota.name}"
                where = _objects_place(name, subject)
                yield where.finding(what, where.raw, "use fewer, or have the quota raised")


def _objects_place(name: str, subject: Subject) -> Value:
    if name != "count/jobs.batch" or not pods.pods_of(subject):
        return subject.object.at("metadata", "namespace")
    most = max(pods.pods_of(subject), key=lambda each: each.job["replicas"].number() or 1)
    return most.job["replicas"]


def _of_containers(pod: Pod, context: Context[GpuQuota]) -> Iterator[Finding]:
    subject, world = context.subject, context.world
    containers = [
        each for key in ("initContainers", "containers") for each in pod.spec[key].items()
    ]
    demanded = {
        name: quota
        for quota in namespace_limits.quotas(subject, world)
        if namespace_limits.counts(quota, pod)
        for name, _ in quota.object.at("spec", "hard").fields()
    }
    for container in containers:
        yield from _says_enough(container, pod, demanded, context)
        for limits in namespace_limits.ranges(subject, world, "Container"):
            yield from _in_range(container, limits)
    for limits in namespace_limits.ranges(subject, world, "Pod"):
        asked = amounts.amounts_of(pod, subject)
        for name, most in limits["max"].fields():
            amount = amounts.read_amount(most)
            if amount is not None and asked.get(name, 0) > amount:
                where = amounts.place(pod, name)
                what = f"makes a pod of more {name} than the {most.raw} of a LimitRange of the namespace"
                yield where.finding(what, where.raw, "ask for less, or have the limit raised")


def _says_enough(
    container: Value, pod: Pod, demanded: dict[str, Subject], context: Context[GpuQuota]
) -> Iterator[Finding]:
    """A quota of cpu or memory refuses pods with a container that does not say what it needs."""
    for name, quota in demanded.items():
        resource = name.removeprefix(_REQUESTS).removeprefix(_PARTS[1])
        of_limits = name.startswith(_PARTS[1])
        if resource not in namespace_limits.NATIVE:
            continue
        parts = ("limits",) if of_limits else ("requests", "limits")
        places = [each.at("resources", part) for each in (container, pod.spec) for part in parts]
        places += namespace_limits.defaults(context.subject, context.world, of_limits=of_limits)
        if not any(each[resource].is_there() for each in places):
            where = container.at("resources", parts[0], resource)
            what = f"is not set, and quota {quota.name} of the namespace refuses pods without it"
            yield where.finding(what, None, f"write how much {resource} the container needs")


def _in_range(container: Value, limits: Value) -> Iterator[Finding]:
    """Each amount is within what a LimitRange lets a container have."""
    for part, bound, is_most in (("limits", "max", True), ("requests", "min", False)):
        for name, edge in limits[bound].fields():
            written = container.at("resources", part, name)
            amount, most = amounts.read_amount(written), amounts.read_amount(edge)
            if amount is None or most is None or (amount <= most if is_most else amount >= most):
                continue
            how = "more" if is_most else "less"
            what = f"is {how} than the {edge.raw} that a LimitRange of the namespace lets a container have"
            yield written.finding(what, written.raw, f"write {edge.raw}, or have the limit changed")
    for name, edge in limits["maxLimitRequestRatio"].fields():
        most, request = (
            amounts.read_amount(container.at("resources", part, name))
            for part in ("limits", "requests")
        )
        ratio = edge.quantity()
        if most and request and ratio is not None and most > request * ratio:
            where = container.at("resources", "limits", name)
            what = f"is more than {edge.raw} times its request, which a LimitRange of the namespace forbids"
            yield where.finding(what, where.raw, "raise the request, or lower the limit")


RULE: Final = Rule(
    id="gpu-quota",
    title="All pods of a job together must fit into the quota of its namespace",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING - names.RUNTIMES,
    tags=("capacity", "gpu", "quota"),
    why="Kubernetes rejects some of the pods; the others hold their GPUs and wait for them forever.",
    fix="Use fewer nodes or GPUs, or have the quota raised.",
    check=_check,
    looks_around=True,
    parameters=GpuQuota,
)
"""The quota is that of each ResourceQuota, as far as its scopes are about the pods, and that of the
parameter: devices, cpu, memory, storage of the pods, pods and Jobs, in requests and in limits. Each
container must fit into the LimitRanges, and must say what it needs where a quota counts it.
"""
