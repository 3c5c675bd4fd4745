"""Which resources are accelerators that count, and how many a container asks for."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from trainer_infra.catalog.device_resources import WHOLE, device_use
from trainer_infra.rules.placement import amounts
from trainer_infra.rules.value import Value

_WHOLE: Final = (
    *("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"),
    *("google.com/tpu", "habana.ai/gaudi"),
)
_PARTS: Final = ("limits", "requests")


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of a container."""

    place: Value
    """Where it asks for them."""
    count: Decimal
    """How many."""


def is_of_device_plugin(resource: str) -> bool:
    """Whether a resource is whole accelerators as the vendors' device plugins name them."""
    return resource in _WHOLE


def is_accelerator(resource: str) -> bool:
    """Whether a resource is accelerators of any kind, or slices that count as one."""
    return device_use(resource) in WHOLE


def gpus_of(container: Value) -> Gpus | None:
    """The GPUs that a container asks for; None where it asks for none.

    Raises:
        UnseenValue: It is not known.
    """
    parts = (container.at("resources", part) for part in _PARTS)
    resources = dict.fromkeys(
        name for part in parts for name, _ in part.fields() if is_accelerator(name)
    )
    found = []
    for each in resources:
        place = amounts.amount_asked(container, each)
        count = place.quantity()
        if count is not None and count > 0:
            found.append(Gpus(place, count))
    return Gpus(found[0].place, sum((each.count for each in found), Decimal(0))) if found else None
