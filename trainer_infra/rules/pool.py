"""A pool of machines, as a check's configuration or a program declares it.

Rules of capacity and schedulability judge against pools; `configuration` reads them, and the
platform's GpuNodePool hands over the same (`node_pool`).
"""

from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field

from trainer_infra.api import quantity
from trainer_infra.api.base import KubeModel


def _quantity(value: str | int) -> str | int:
    quantity.parse_quantity(value)
    return value


class Taint(KubeModel):
    """A taint of a pool's machines, as Kubernetes has it."""

    key: str
    """Its key."""
    value: str = ""
    """Its value."""
    effect: str
    """NoSchedule, PreferNoSchedule or NoExecute."""


class Pool(KubeModel):
    """Machines of one kind."""

    name: str
    """Name of the pool."""
    capacity: dict[str, Annotated[str | int, AfterValidator(_quantity)]]
    """What one machine has for pods, by resource: `cpu`, `memory`, `nvidia.com/gpu`."""
    nodes: Annotated[int, Field(ge=0)]
    """Most machines that there are."""
    accelerator: str | None = None
    """What its accelerators are called in the catalog and in the price table."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the machines."""
    taints: tuple[Taint, ...] = ()
    """Taints of the machines."""
    preemptible: bool = False
    """Whether machines can be taken away at any time."""
    topology: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Most machines of one domain, by the label that names the domain."""

    def amount(self, resource: str) -> Decimal:
        """What one machine has of a resource, in units; 0 where it has none."""
        written = self.capacity.get(resource)
        return Decimal(0) if written is None else quantity.parse_quantity(written)
