"""What pods ask for, in units, from objects in which anything may stand.

The sum over a pod's containers is `render.pod_requests`'; a limit counts as the request that is not
written, as the API server has it. What cannot be read as a quantity counts for nothing.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from trainer_infra.api import quantity
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pod_requests
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.value import Value

Amounts = dict[str, Decimal]
"""Amounts in units (cores, bytes, devices) by resource name."""

_CONTAINERS: Final = ("initContainers", "containers")
_PARTS: Final = ("requests", "limits")
_GIB: Final = 2**30
_NANO: Final = Decimal("1e-9")
_SHARES: Final = ("mem", "memory", "mem-percentage", "cores")
"""How the names of parts of a GPU end, which are no GPUs."""
_OTHERS: Final = ("google.com/tpu", "habana.ai/gaudi")


def of(pod: Pod) -> Amounts:
    """What one pod asks of a machine.

    Raises:
        Unseen: Part of it is not known.
    """
    containers = {key: [_holder(each) for each in pod.spec[key].items()] for key in _CONTAINERS}
    whole = {**_holder(pod.spec), "overhead": _written(pod.spec["overhead"])}
    return _summed({**whole, **containers})


def of_container(container: Value) -> Amounts:
    """What one container asks for.

    Raises:
        Unseen: Part of it is not known.
    """
    return _summed({"containers": [_holder(container)]})


def where(pod: Pod, resource: str) -> Value:
    """Where a pod's greatest part of a resource is written.

    Raises:
        Unseen: Part of it is not known.
    """
    holders = [each for key in _CONTAINERS for each in pod.spec[key].items()]
    found = [asked(each, resource) for each in (*holders, pod.spec)]
    return max(found, key=lambda each: each.quantity() or Decimal(0))


def asked(container: Value, resource: str) -> Value:
    """What a container requests of a resource, or else its limit.

    Raises:
        Unseen: The request is not known.
    """
    request, limit = (container.at("resources", part, resource) for part in _PARTS)
    return request if request.quantity() is not None else limit


def is_gpu(resource: str) -> bool:
    """Whether a resource is GPUs: has `gpu` in its name, and is no part of one."""
    name = resource.lower()
    return "gpu" in name and not name.endswith(_SHARES)


def is_accelerator(resource: str) -> bool:
    """Whether a resource is accelerators of any kind."""
    return is_gpu(resource) or resource in _OTHERS


def gpus(amounts: Mapping[str, Decimal]) -> Decimal:
    """GPUs among what is asked for."""
    return sum((each for name, each in amounts.items() if is_gpu(name)), Decimal(0))


def accelerators(amounts: Mapping[str, Decimal]) -> Decimal:
    """Accelerators among what is asked for."""
    return sum((each for name, each in amounts.items() if is_accelerator(name)), Decimal(0))


def gpu(container: Value) -> Value | None:
    """Where a container asks for GPUs; None where it asks for none.

    Raises:
        Unseen: It is not known.
    """
    found = (each for each, amount in of_container(container).items() if is_gpu(each) and amount)
    resource = next(found, None)
    return None if resource is None else asked(container, resource)


def summed(parts: Iterable[tuple[int, Amounts]]) -> Amounts:
    """What several pods of several kinds ask for in all."""
    total: Amounts = {}
    for count, amounts in parts:
        for name, each in amounts.items():
            total[name] = total.get(name, Decimal(0)) + count * each
    return total


def read(written: str | float) -> Decimal | None:
    """An amount that a configuration has; None where it is none."""
    try:
        return quantity.parse(written)
    except (InvalidInput, ValueError):
        return None


def shown(amount: Decimal, resource: str = "") -> str:
    """An amount for people, of memory in GiB: without an exponent and zeros behind the point."""
    if resource == "memory":
        return f"{shown(amount / _GIB)}Gi"
    text = f"{amount:.3f}"
    return text.rstrip("0").rstrip(".")


def _summed(pod: Mapping[str, Any]) -> Amounts:
    found = pod_requests.single(pod, defaulted=True)
    return {name: each.nanos * _NANO for name, each in found.items()}


def _holder(holder: Value) -> Mapping[str, Any]:
    """The part of a container or pod that says what it asks for, of types that render reads."""
    written = {part: _written(holder.at("resources", part)) for part in _PARTS}
    return {"restartPolicy": holder["restartPolicy"].text(), "resources": written}


def _written(amounts: Value) -> Mapping[str, Any]:
    return {name: each.raw for name, each in amounts.fields() if each.quantity() is not None}
