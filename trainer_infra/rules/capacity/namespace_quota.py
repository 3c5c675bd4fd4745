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
_JOBS: Final = "count/jobs.batch"
Users = Sequence[tuple[Pod | None, amounts.Amounts]]
"""What uses quotas, and how much of them: pods, or the object with all objects that it makes."""


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
        together = nodes.pods_together(subject)
        used = [(pod, namespace_limits.usage(pod, subject, world)) for pod in together]
        yield from _too_much(every, used, subject)
        for pod in pods.pods_of(subject):
            yield from _unsaid(pod, quotas, context)
    for limits in namespace_limits.ranges(subject, world):
        for pod in pods.pods_of(subject):
            yield from _of_range(limits, pod, subject)
    if every:
        yield from _too_much(every, [(None, _objects(subject))], subject)


def _configured(written: dict[str, str | int]) -> Quota:
    hard = {}
    for name, each in written.items():
        most, is_device = amounts.configured_amount(each), "/" in name and name[:6] != "count/"
        if most is not None:
            hard[f"{_REQUESTS}{name}" if is_device else name] = most
    return Quota(hard)


def _too_much(quotas: Iterable[Quota], used: Users, subject: Subject) -> Iterator[Finding]:
    """More of something than a quota has, of all together that it counts."""
    told: set[str] = set()
    for quota in quotas:
        members = [each for each in used if quota.counts(each[0])]
        total = amounts.sum_of_pods((_number(pod), each) for pod, each in members)
        for name in filter(quota.hard.__contains__, total):
            counted, whole, most = name.removeprefix(_REQUESTS), total[name], quota.hard[name]
            if whole > most and counted not in told:
                told.add(counted)
                where, fix = _place(name, most, members, subject)
                asked, there = (amounts.amount_text(counted, each) for each in (whole, most))
                whose = f"namespace {subject.namespace}" if subject.namespace else "its namespace"
                noun = counted.removeprefix("count/")
                what = f"makes {asked} {noun} in all, more than the quota of {there} of {whose}"
                yield where.finding(what, where.raw, fix)


def _number(pod: Pod | None) -> int:
    return 1 if pod is None else nodes.count(pod)


def _objects(subject: Subject) -> amounts.Amounts:
    """What a quota counts of the objects that a job makes."""
    jobsets = pods.jobsets(subject)
    jobs = [job["replicas"].number() for one in jobsets for job in one["replicatedJobs"].items()]
    made = {
        _JOBS: sum(1 if each is None else each for each in jobs),
        "count/jobsets.jobset.x-k8s.io": len(jobsets),
        f"count/trainjobs.{names.GROUP}": int(subject.kind == names.TRAIN_JOB),
    }
    counted = {name: each * amounts.ONE for name, each in made.items()}
    return counted | namespace_limits.storage(_claims(jobsets))


def _place(name: str, most: int, users: Users, subject: Subject) -> tuple[Value, str]:
    """Where too much is asked for, and what to do about it."""
    counted = name.removeprefix(_REQUESTS)
    resource = counted.removeprefix(_LIMITS)
    pod, own = max(users, key=lambda each: each[1].get(name, 0) * _number(each[0]))
    single = own[name]
    if pod is None:
        jobs = [each.job["replicas"] for each in pods.pods_of(subject) if name == _JOBS]
        where = subject.object.at("metadata", "namespace")
        where = max(jobs, key=lambda each: each.number() or 1, default=where)
        return where, "use fewer, or have the quota raised"
    if single > most and resource in amounts.amounts_of(pod, subject):
        where = amounts.place(pod, resource, of_limits=name.startswith(_LIMITS))
        return where, f"ask for at most {amounts.amount_text(counted, most)} of {counted}"
    fix = f"use at most {nodes.pods_text(most // single)}"
    if not name.endswith("pods"):
        fix = f"{fix} of {amounts.amount_text(counted, single)} {counted}"
        fix = "ask for less, or have the quota raised" if single > most else fix
    return nodes.count_place(pod, subject), fix


def _claims(jobsets: Iterable[Value]) -> Iterator[Value]:
    yield from (claim for spec in jobsets for _, claim in lookup.claim_templates(spec))


def _unsaid(pod: Pod, quotas: Iterable[Quota], context: Context[GpuQuota]) -> Iterator[Finding]:
    """A quota of cpu or memory refuses pods with a container that does not say what it needs."""
    demanded = {
        name: quota.name
        for quota in quotas
        for name in quota.hard
        if name in _DEMANDED and quota.counts(pod)
    }
    for name, quota in demanded.items():
        resource, part = _DEMANDED[name]
        for container in amounts.containers(pod):
            places = namespace_limits.needs(container, pod, context.subject, context.world, part)
            if not any(each[resource].is_there() for each in places):
                where = container.at("resources", part, resource)
                what = f"is not set, and quota {quota} of the namespace refuses pods without it"
                yield where.finding(what, None, f"write how much {resource} the container needs")


def _of_range(limits: Value, pod: Pod, subject: Subject) -> Iterator[Finding]:
    """Each container, each claim and the pod as a whole are within what a LimitRange lets them have."""
    of = limits["type"].text()
    if of == "Container":
        for each in amounts.containers(pod):
            yield from _in_range(each, limits, "container")
    elif of == "PersistentVolumeClaim":
        for each in (*namespace_limits.own_claims(pod), *_claims(pods.jobsets(subject))):
            yield from _in_range(each, limits, "claim")
    elif of == "Pod":
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
                yield written.finding(
                    what, written.raw, f"write {edge.raw}, or have the limit changed"
                )
    for name, edge in limits["maxLimitRequestRatio"].fields():
        request, limit = (holder.at("resources", part, name) for part in PARTS)
        asked, limited, ratio = (each.quantity() for each in (request, limit, edge))
        if asked and limited and ratio is not None and limited > asked * ratio:
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
