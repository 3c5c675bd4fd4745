"""Amounts of resources: what a pod asks of a machine, as far as it is known.

All are whole billionths of a unit, so that sums and quotients are exact. What is not known counts
as nothing: every amount is the least that is asked for, and what it does not fit into is too small.
Rule of a pod's sum: `render/resources`, with limits for requests that are not written, as Kueue
and the scheduler see a pod.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from trainer_infra.api import quantity
from trainer_infra.api.quantity import Notation, Quantity
from trainer_infra.catalog.device_resources import WHOLE, device_use
from trainer_infra.errors import InvalidInput
from trainer_infra.render import resources
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Subject, Value, World
from trainer_infra.rules.value import ABSENT, UNKNOWN

Amounts = dict[str, int]
"""Billionths by resource name."""
ONE: Final = 10**9
"""One unit: a core, a byte, a device."""
_CONTAINERS: Final = ("containers", "initContainers")
_PARTS: Final = ("requests", "limits")
_BYTES: Final = ("memory", "storage", "ephemeral-storage", "hugepages-")


@dataclass(frozen=True, slots=True)
class _PodRequest:
    """Finds what one pod asks for: equal to another of that pod, so that it is found once."""

    pod: Pod
    parts: tuple[str, ...] = _PARTS

    def __call__(self, _subject: Subject) -> Iterable[tuple[str, int]]:
        spec, parts = self.pod.spec, self.parts
        wire = {key: [_holder(each, parts) for each in spec[key].items()] for key in _CONTAINERS}
        whole = {**_holder(spec, parts), "overhead": _written(spec["overhead"])}
        found = resources.requests_of_pod({**whole, **wire}, defaulted=True)
        return ((name, each.nanos) for name, each in found.items() if each.nanos > 0)


def amounts_of(pod: Pod, subject: Subject) -> Amounts:
    """What one pod of an object asks for by resource; nothing that is zero."""
    return dict(subject.once(_PodRequest(pod)))


def limits_of(pod: Pod, subject: Subject) -> Amounts:
    """What one pod of an object may use at most by resource, of those containers that have limits."""
    return dict(subject.once(_PodRequest(pod, _PARTS[1:])))


def sum_of_pods(parts: Iterable[tuple[int, Mapping[str, int]]]) -> Amounts:
    """What so many pods of several kinds ask for in all."""
    total: Amounts = {}
    for count, asked in parts:
        for name, each in asked.items():
            total[name] = total.get(name, 0) + count * each
    return total


def containers(pod: Pod) -> list[Value]:
    """The containers of a pod, then its init containers."""
    return [each for key in _CONTAINERS for each in pod.spec[key].items()]


def place(pod: Pod, resource: str, *, of_limits: bool = False) -> Value:
    """Where the greatest part of what a pod asks for of a resource, or is limited to, is written."""
    holders = (*containers(pod), pod.spec)
    limits = [each.at("resources", "limits", resource) for each in holders if of_limits]
    found = limits or [amount_asked(each, resource) for each in holders]
    return max(found, key=lambda each: 0 if each.raw is UNKNOWN else read_amount(each) or 0)


def amount_asked(holder: Value, resource: str) -> Value:
    """What a container or pod requests of a resource, or else its limit."""
    request, limit = (holder.at("resources", part, resource) for part in _PARTS)
    return request if request.raw is UNKNOWN or request.quantity() is not None else limit


def read_amount(value: Value) -> int | None:
    """The amount that is written; None where there is none that can be read."""
    amount = value.quantity()
    return None if amount is None else int(amount * ONE)


def configured_amount(written: str | float) -> int | None:
    """An amount that a configuration has; None where it is none."""
    try:
        return int(quantity.parse_quantity(written) * ONE)
    except (InvalidInput, ValueError):
        return None


def amount_text(resource: str, amount: int) -> str:
    """The amount as Kubernetes writes it."""
    binary = resource.removeprefix("limits.").startswith(_BYTES)
    return str(Quantity(amount, Notation.BINARY if binary else Notation.DECIMAL))


def _holder(value: Value, parts: Iterable[str]) -> dict[str, Any]:
    """What of a container, or of a whole pod, says what it asks for."""
    found = {part: _written(value["resources"][part]) for part in parts}
    if "requests" in found and value["resources"]["requests"].is_noted():
        # Of devices the API server takes no request that is not the limit.
        found = {"limits": {name: each for name, each in found["limits"].items() if "/" in name}}
    return {"resources": found, "restartPolicy": value["restartPolicy"].raw}


def _written(value: Value) -> dict[str, Any]:
    found = {}
    for name, each in value.fields():
        if each.is_noted():
            found[name] = "0"
        elif each.quantity() is not None:
            found[name] = each.raw
    return found


def claimed_devices(pod: Pod, subject: Subject, world: World) -> Mapping[str, int]:
    """Devices that the claims of one pod ask for, by DeviceClass, as far as their templates are known.

    Of a request with alternatives the first counts, as it is tried first.
    """
    found: dict[str, int] = {}
    for each in pod.spec["resourceClaims"].items():
        name = each["resourceClaimTemplateName"].text()
        template = lookup.spec_of(world, lookup.CLAIM_TEMPLATE, name, subject.namespace)
        for request in template.at("spec", "devices", "requests").items():
            nested = (request["exactly"], request["firstAvailable"][0], request)
            asked = next(one for one in nested if one.is_there())
            of_class, count = asked["deviceClassName"].text(), asked["count"].number()
            found[of_class] = found.get(of_class, 0) + (1 if count is None else count)
    return found


OF_DEVICE_PLUGINS: Final = (
    *("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"),
    *("google.com/tpu", "habana.ai/gaudi"),
)
"""Resources that are whole accelerators as the vendors' device plugins name them."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """How many GPUs a container asks for, and where."""

    place: Value
    count: Decimal


def is_accelerator(resource: str) -> bool:
    """Whether a resource is accelerators of any kind, or slices that count as one."""
    return device_use(resource) in WHOLE


def accelerators(asked: Mapping[str, int]) -> int:
    """How many accelerators are asked for, in billionths."""
    return sum(each for name, each in asked.items() if is_accelerator(name))


def pods_with_devices(subject: Subject) -> Iterator[Pod]:
    """The pods of an object that name accelerators in what they ask for, or claim devices."""
    for pod in pods.pods_of(subject):
        parts = (each.at("resources", part) for each in containers(pod) for part in _PARTS)
        named = (is_accelerator(name) for part in parts for name, _ in part.fields())
        if pod.spec["resourceClaims"].raw is not ABSENT or any(named):
            yield pod


def gpus_of(container: Value) -> Gpus | None:
    """The GPUs that a container asks for; None where it asks for none."""
    if container["resources"].raw is ABSENT:
        return None
    parts = (container.at("resources", part) for part in reversed(_PARTS))
    written = (name for part in parts for name, _ in part.fields())
    resources = dict.fromkeys(filter(is_accelerator, written))
    found = []
    for each in resources:
        place = amount_asked(container, each)
        count = place.quantity()
        if count is not None and count > 0:
            found.append(Gpus(place, count))
    return Gpus(found[0].place, sum((each.count for each in found), Decimal(0))) if found else None
