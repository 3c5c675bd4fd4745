"""gpu-limits: a GPU or other device is asked for in whole numbers, the same in requests and limits.

Source: Kubernetes' validation of ResourceRequirements (ValidateResourceRequirements): a resource
with a domain that is not Kubernetes' own is whole, and cannot be promised to two.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.finding import Change
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_NATIVE: Final = "kubernetes.io"


def _check(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    requests, limits = (place.value.at("resources", part) for part in ("requests", "limits"))
    for name, request in requests.fields():
        if _is_extended(name):
            yield from _whole(request) or _of_request(request, limits[name], name)
    for name, limit in limits.fields():
        if _is_extended(name):
            yield from _whole(limit)


def _is_extended(resource: str) -> bool:
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != _NATIVE and not domain.endswith(f".{_NATIVE}")


def _whole(amount: Value) -> tuple[Finding, ...]:
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


RULE: Final = Rule(
    id="gpu-limits",
    title="Requests for GPUs and other devices equal their limits, in whole numbers",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("capacity", "gpu"),
    why="Kubernetes refuses the pods, and the job waits for ever.",
    fix="Write devices in `limits` alone: the request follows.",
    places=pods.containers,
    check=_check,
    remediates=True,
)
