"""gpu-quota: the quotas and limits of a namespace, of GPUs and of all else, take the pods of a job."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import amounts, lookup, namespace_limits, nodes
from trainer_infra.rules.placement.namespace_limits import PARTS, Quota
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_REQUESTS, _LIMITS = (f"{part}." for part in PARTS)
_DEMANDED: Final = {
    f"{start}{name}": (name, part)
    for name in namespace_limits.NATIVE
    for start, part in (("", PARTS[0]), (_REQUESTS, PARTS[0]), (_LIMITS, PARTS[1]))
}
"""By what a quota counts, the resource of which each container must then say how much it needs, and in which part."""
Members = Sequence[tuple[Pod, amounts.Amounts]]
"""The pods that a quota counts, with what each uses of it."""


class GpuQuota(Parameters):
    """How much a job may ask for."""

    namespaces: dict[str, dict[str, str | int]] | None = None
    """By namespace, the most of each resource, `nvidia.com/gpu: 16`; None for ResourceQuotas alone."""


def _check(_place: Value, context: Context[GpuQuota]) -> Iterator[Finding]:
    subject, world = context.subject, context.world
    quotas = namespace_limits.quotas(subject, world)
    configured = (context.parameters.namespaces or {}).get(subject.namespace)
    every = quotas if configured is None else (_configured(configured), *quotas)
    if every:
        yield from _of_pods(every, context)
        yield from _of_objects(quotas, subject)
        for pod in pods.pods_of(subject):
            yield from _unsaid(pod, quotas, context)
    for limits in namespace_limits.ranges(subject, world):
        for pod in pods.pods_of(subject):
            yield from _of_range(limits, pod, subject)


def _configured(written: dict[str, str | int]) -> Quota:
    hard = {}
    for name, each in written.items():
        most, is_device = amounts.configured_amount(each), "/" in name and name[:6] != "count/"
        if most is not None:
            hard[f"{_REQUESTS}{name}" if is_device else name] = most
    return Quota(hard)


def _of_pods(quotas: Iterable[Quota], context: Context[GpuQuota]) -> Iterator[Finding]:
    """All pods together use no more than each quota has, of those that it counts."""
    subject, told = context.subject, set[str]()
    together = nodes.pods_together(subject)
    every = [(pod, namespace_limits.usage(pod, subject, context.world)) for pod in together]
    for quota in quotas:
        members = [each for each in every if quota.counts(each[0])]
        total = amounts.sum_of_pods((nodes.count(pod), each) for pod, each in members)
        for name, whole in total.items():
            most, resource = quota.hard.get(name, whole), name.removeprefix(_REQUESTS)
            if whole > most and resource not in told:
                told.add(resource)
                yield _too_much(name, whole, most, members, subject)


def _too_much(name: str, whole: int, most: int, members: Members, subject: Subject) -> Finding:
    counted = name.removeprefix(_REQUESTS)
    resource = counted.removeprefix(_LIMITS)
    pod, own = max(members, key=lambda each: each[1].get(name, 0))
    single, text = own[name], amounts.amount_text
    if single > most and resource in amounts.amounts_of(pod, subject):
        where = amounts.place(pod, resource, of_limits=name.startswith(_LIMITS))
        fix = f"ask for at most {text(resource, most)} of {counted}"
    else:
        where = nodes.count_place(pod, subject)
        of_each = "" if name.endswith("pods") else f" of {text(resource, single)} {counted}"
        fix = f"use at most {nodes.pods_text(most // single)}{of_each}"
    whose = f"namespace {subject.namespace}" if subject.namespace else "its namespace"
    what = f"makes {text(resource, whole)} {counted} in all, more than the quota of {text(resource, most)} of {whose}"
    return where.finding(what, where.raw, fix)


def _of_objects(quotas: Iterable[Quota], subject: Subject) -> Iterator[Finding]:
    """No more Jobs, claims or objects of a kind are made than a quota lets be there."""
    jobsets = pods.jobsets(subject)
    jobs = [each["replicas"] for spec in jobsets for each in spec["replicatedJobs"].items()]
    counts = [1 if each.number() is None else each.number() or 0 for each in jobs]
    made = {
        "count/jobs.batch": sum(counts) * amounts.ONE,
        "count/jobsets.jobset.x-k8s.io": len(jobsets) * amounts.ONE,
        f"count/trainjobs.{names.GROUP}": amounts.ONE if subject.kind == names.TRAIN_JOB else 0,
        **namespace_limits.storage(_claims(jobsets)),
    }
    for quota in quotas:
        for name in sorted(made.keys() & quota.hard.keys()):
            where, most = subject.object.at("metadata", "namespace"), quota.hard[name]
            if name == "count/jobs.batch" and jobs:
                where = jobs[counts.index(max(counts))]
            if made[name] > most:
                asked, there = (amounts.amount_text("memory", each) for each in (made[name], most))
                what = f"makes {asked} {name.removeprefix('count/')}, more than the {there} of quota {quota.name}"
                yield where.finding(what, where.raw, "use fewer, or have the quota raised")


def _claims(jobsets: Iterable[Value]) -> Iterator[Value]:
    yield from (claim for spec in jobsets for _, claim in lookup.claim_templates(spec))


def _unsaid(pod: Pod, quotas: Iterable[Quota], context: Context[GpuQuota]) -> Iterator[Finding]:
    """A quota of cpu or memory refuses pods with a container that does not say what it needs."""
    demanded = {
        name: quota.name
        for quota in quotas
        for name in quota.hard.keys() & _DEMANDED.keys()
        if quota.counts(pod)
    }
    for name, quota in sorted(demanded.items()):
        resource, part = _DEMANDED[name]
        for container in amounts.containers(pod):
            places = namespace_limits.needs(container, pod, context.subject, context.world, part)
            if not any(each[resource].is_there() for each in places):
                where = container.at("resources", part, resource)
                what = f"is not set, and quota {quota} of the namespace refuses pods without it"
                yield where.finding(what, None, f"write how much {resource} the container needs")


def _of_range(limits: Value, pod: Pod, subject: Subject) -> Iterator[Finding]:
    """Each container, each claim and the pod as a whole are within what a LimitRange lets them have."""
    match limits["type"].text():
        case "Container":
            for each in amounts.containers(pod):
                yield from _in_range(each, limits, "container")
        case "PersistentVolumeClaim":
            for each in (*namespace_limits.own_claims(pod), *_claims(pods.jobsets(subject))):
                yield from _in_range(each, limits, "claim")
        case "Pod":
            asked, limited = amounts.amounts_of(pod, subject), amounts.limits_of(pod, subject)
            for name, edge in limits["max"].fields():
                most = amounts.read_amount(edge)
                if most is not None and max(asked.get(name, 0), limited.get(name, 0)) > most:
                    where = amounts.place(pod, name, of_limits=limited.get(name, 0) > most)
                    what = f"makes a pod of more {name} than the {edge.raw} of a LimitRange of the namespace"
                    yield where.finding(what, where.raw, "ask for less, or have the limit raised")


def _in_range(holder: Value, limits: Value, noun: str) -> Iterator[Finding]:
    for bound, parts in (("max", PARTS[::-1]), ("min", PARTS)):
        for name, edge in limits[bound].fields():
            places = [holder.at("resources", part, name) for part in parts]
            written = places[0] if places[0].is_there() else places[1]
            amount, most = amounts.read_amount(written), amounts.read_amount(edge)
            if amount is None or most is None or amount == most:
                continue
            if (amount > most) == (bound == "max"):
                how = "more" if bound == "max" else "less"
                what = f"is {how} than the {edge.raw} that a LimitRange of the namespace lets a {noun} have"
                yield written.finding(what, written.raw, f"write {edge.raw}, or have the limit changed")
    for name, edge in limits["maxLimitRequestRatio"].fields():
        request, limit = (holder.at("resources", part, name) for part in PARTS)
        least, most, ratio = (each.quantity() for each in (request, limit, edge))
        if least and most and ratio is not None and most > least * ratio:
            what = f"is more than {edge.raw} times its request, which a LimitRange of the namespace forbids"
            yield limit.finding(what, limit.raw, "raise the request, or lower the limit")


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
