"""Which resources are GPUs or other accelerators, and how many a container asks for."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from trainer_infra.rules.placement import amounts
from trainer_infra.rules.value import Value

_SHARES: Final = ("mem", "memory", "mem-percentage", "cores")
"""How the names of parts of a GPU end, which are no GPUs."""
_OTHERS: Final = ("google.com/tpu", "habana.ai/gaudi")
_WHOLE: Final = (
    *("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"),
    *_OTHERS,
)
_PARTS: Final = ("limits", "requests")


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of a container."""

    place: Value
    """Where it asks for them."""
    count: Decimal
    """How many."""


def is_gpu(resource: str) -> bool:
    """Whether a resource is GPUs: has `gpu` in its name, and is no part of one."""
    name = resource.lower()
    return "gpu" in name and not name.endswith(_SHARES)


def is_of_device_plugin(resource: str) -> bool:
    """Whether a resource is whole accelerators as the vendors' device plugins name them."""
    return resource in _WHOLE


def is_accelerator(resource: str) -> bool:
    """Whether a resource is accelerators of any kind."""
    return is_gpu(resource) or resource in _OTHERS


def gpus_of(container: Value) -> Gpus | None:
    """The GPUs that a container asks for; None where it asks for none.

    Raises:
        Unseen: It is not known.
    """
    parts = (container.at("resources", part) for part in _PARTS)
    resources = dict.fromkeys(name for part in parts for name, _ in part.fields() if is_gpu(name))
    found = []
    for each in resources:
        place = amounts.amount_asked(container, each)
        count = place.quantity()
        if count is not None and count > 0:
            found.append(Gpus(place, count))
    return Gpus(found[0].place, sum((each.count for each in found), Decimal(0))) if found else None
