"""What containers ask for: that they say it, in amounts that there can be, and no more than there is."""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.finding import Change
from trainer_infra.rules.placement import (
    amounts,
    lookup,
    machines,
    namespace_limits,
    node_constraints,
    nodes,
)
from trainer_infra.rules.pods import WORKLOADS, Pod, PodContainer
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.value import ABSENT

_RESOURCES: Final = ("cpu", "memory")


def _check_cpu_memory(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    # Without an mlPolicy the runtime alone says it: `resourcesPerNode` has no effect then.
    is_own = context.subject.kind == names.TRAIN_JOB and context.subject.ml_policy.raw is not ABSENT
    own = context.subject.object.at("spec", "trainer", "resourcesPerNode")
    written = own if is_own else place.value["resources"]
    places = namespace_limits.needs(place.value, place.pod, context.subject, context.world)
    missing = [each for each in _RESOURCES if not any(one[each].is_there() for one in places)]
    fix = f"write how much {' and '.join(missing)} a node needs"
    if len(missing) == 1:
        yield written.at("limits", *missing).finding("is not set", None, fix)
    elif missing:
        yield written["limits"].finding(f"sets neither {' nor '.join(missing)}", None, fix)


CPU_MEMORY_SET: Final = Rule(
    id="cpu-memory-set",
    title="Training containers must set their cpu and memory",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("capacity", "resources"),
    why=(
        "Without them the scheduler may place the pod on a machine that is too small: it is throttled, "
        "or killed for lack of memory, and its neighbors suffer. Queues and quotas do not count it."
    ),
    fix="Set `cpu` and `memory` in `spec.trainer.resourcesPerNode.limits`.",
    places=nodes.training_containers,
    check=_check_cpu_memory,
    looks_around=True,
)
"""What the namespace's LimitRange adds counts as set."""


_NATIVE: Final = "kubernetes.io"


def _check_devices(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    requests, limits = (place.value.at("resources", part) for part in ("requests", "limits"))
    for name, request in requests.fields():
        if _is_extended(name):
            yield from _is_whole_number(request) or _of_request(request, limits[name], name)
    for name, limit in limits.fields():
        if _is_extended(name):
            yield from _is_whole_number(limit)


def _is_extended(resource: str) -> bool:
    domain, slash, _ = resource.partition("/")
    is_foreign = bool(slash) and domain != _NATIVE and not domain.endswith(f".{_NATIVE}")
    return is_foreign or resource.startswith("hugepages-")


def _is_whole_number(amount: Value) -> tuple[Finding, ...]:
    found = amount.quantity()
    if found is None or found == found.to_integral_value():
        return ()
    return (amount.finding("must be a whole number", amount.raw, "ask for whole devices"),)


def _of_request(request: Value, limit: Value, name: str) -> Iterator[Finding]:
    wanted, most = request.quantity(), limit.quantity()
    if wanted is None:
        return
    if not limit.is_there():
        written = request.set_to(request.raw)
        patch = tuple(Change((*each.path[:-2], "limits", name), each.value) for each in written)
        fix = f"write {name} in limits alone"
        yield request.finding("has no limit of the same amount", request.raw, fix, patch)
    elif most is not None and wanted != most:
        fix = f"write {name} in limits alone, which is {limit.raw} there"
        yield request.finding("must equal its limit", request.raw, fix)


GPU_LIMITS: Final = Rule(
    id="gpu-limits",
    title="Requests for GPUs and other devices must be whole numbers and equal their limits",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("capacity", "gpu"),
    why="Kubernetes rejects the pods, and the job waits forever.",
    fix="Set devices in `limits` only: Kubernetes copies them to the requests.",
    places=pods.containers,
    check=_check_devices,
    remediates=True,
)
"""Source: Kubernetes' validation of ResourceRequirements (ValidateResourceRequirements): a resource
with a domain that is not Kubernetes' own, and each size of huge pages, is whole and cannot be promised
to two.
"""


def _check_machine(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    pools = context.world.pools
    selected = node_constraints.selected_pools(place, pools)
    if pools and not selected:
        label = node_constraints.excluding_label(place, pools)
        fix = f"use a label of one of the pools {', '.join(each.name for each in pools)}"
        got = label.raw if isinstance(label.raw, str) else None
        yield label.finding("selects no machine of any declared pool", got, fix)
    asked = amounts.amounts_of(place, context.subject) if selected else {}
    lacks = [(pool, machines.lacking_resources(pool, asked, pools)) for pool in selected]
    found = _near_pools(place, asked, lacks, context) if lacks else ()
    pool, lacking = min(found, key=lambda each: len(each[1]), default=(None, ()))
    if pool is not None:
        yield from (_too_much(place, pool, resource, asked[resource]) for resource in lacking)


def _near_pools(
    pod: Pod,
    asked: amounts.Amounts,
    lacks: Sequence[tuple[Pool, Sequence[str]]],
    context: Context[Parameters],
) -> Sequence[tuple[Pool, Sequence[str]]]:
    """Of the selected pools those that let the pod in and have accelerators for it.

    Where there are none, but it would fit, its tolerations are wrong, which is another rule's.
    """
    usable = machines.usable_pools(pod, asked, context.subject, context.world)
    near = {id(each) for each in machines.with_accelerators(usable, asked)}
    if near or any(not lacking for _, lacking in lacks):
        return [each for each in lacks if id(each[0]) in near]
    return lacks


def _too_much(place: Pod, pool: Pool, resource: str, amount: int) -> Finding:
    where, most = amounts.place(place, resource), pool.capacity.get(resource, 0)
    fix = f"ask for at most {most} of {resource} on one node"
    what = (
        f"makes a pod of {amounts.amount_text(resource, amount)} {resource}, which fits into no machine "
        f"that it may run on: one of pool {pool.name} has {most}"
    )
    return where.finding(what, where.raw, fix)


GPU_FITS_MACHINE: Final = Rule(
    id="gpu-fits-machine",
    title="Each pod must fit into a machine that may run it",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING - names.RUNTIMES,
    tags=("capacity", "gpu"),
    why="The pod waits forever, and with it the rest of the job, which may hold GPUs meanwhile.",
    fix="Request no more for one node than a machine has; use more nodes instead.",
    places=pods.pods_of,
    check=_check_machine,
    looks_around=True,
)


def _check_claims(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    subject = context.subject
    own = subject.object.at("spec", "trainer", "resourcesPerNode")
    is_claiming = place.pod.spec["resourceClaims"].raw is not ABSENT
    if subject.runtime is None or not is_claiming or not own.is_there():
        return
    claimed = {
        claim["name"].text()
        for job in subject.runtime.at("spec", "template", "spec", "replicatedJobs").items()
        if job["name"].raw == place.pod.job["name"].raw
        for each in job.at("template", "spec", "template", "spec", "containers").items()
        if each["name"].raw == place.value["name"].raw
        for claim in each.at("resources", "claims").items()
    }
    kept = {each["name"].text() for each in lookup.items(place.value.at("resources", "claims"))}
    lost = ", ".join(sorted(claimed - kept))
    if lost:
        what = f"takes away what the runtime claims for a node: {lost}"
        fix = "write cpu and memory into the runtime, and leave this out"
        yield own.finding(what, None, fix)


CLAIMS_KEPT: Final = Rule(
    id="claims-kept",
    title="resourcesPerNode must not take away the devices that a runtime claims",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("capacity", "gpu", "dra"),
    why="The trainer drops the claims of the runtime's container, and the nodes train without their GPUs.",
    fix="Leave out `spec.trainer.resourcesPerNode`, and set cpu and memory in the runtime.",
    places=nodes.training_containers,
    check=_check_claims,
)
"""Reference behaviour 2.2: of resources limits and requests alone are merged, and claims are dropped."""
