"""Accelerators by name: their memory, and what nodes that have them are labelled.

Memory is what the vendor's data sheet says; labels are those of NVIDIA's GPU feature discovery, GKE and Karpenter.
What one label value can mean twice (Karpenter's `a100`) is left out.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One kind of accelerator."""

    name: str
    """What pools and price tables call it."""
    memory: int
    """Memory of one, in GiB."""
    labels: tuple[str, ...] = ()
    """Values of node labels that stand for it."""


ACCELERATORS: Final[tuple[Accelerator, ...]] = (
    Accelerator("nvidia-p100", 16, ("nvidia-tesla-p100", "Tesla-P100-PCIE-16GB")),
    Accelerator("nvidia-v100-16gb", 16, ("Tesla-V100-SXM2-16GB", "Tesla-V100-PCIE-16GB")),
    Accelerator("nvidia-v100-32gb", 32, ("Tesla-V100-SXM2-32GB", "Tesla-V100-PCIE-32GB")),
    Accelerator("nvidia-t4", 16, ("nvidia-tesla-t4", "Tesla-T4", "t4")),
    Accelerator("nvidia-l4", 24, ("NVIDIA-L4", "l4")),
    Accelerator("nvidia-a10", 24, ("NVIDIA-A10",)),
    Accelerator("nvidia-a10g", 24, ("NVIDIA-A10G", "a10g")),
    Accelerator("nvidia-a40", 48, ("NVIDIA-A40",)),
    Accelerator("nvidia-l40s", 48, ("NVIDIA-L40S", "l40s")),
    Accelerator(
        "nvidia-a100-40gb",
        40,
        ("nvidia-tesla-a100", "NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB"),
    ),
    Accelerator("nvidia-a100-80gb", 80, ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe")),
    Accelerator(
        "nvidia-h100-80gb",
        80,
        ("nvidia-h100-mega-80gb", "NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "h100"),
    ),
    Accelerator("nvidia-h100-nvl", 94, ("NVIDIA-H100-NVL",)),
    Accelerator("nvidia-h200", 141, ("nvidia-h200-141gb", "NVIDIA-H200", "h200")),
    Accelerator("nvidia-b200", 192, ("NVIDIA-B200",)),
    # What machines offer of the 288 of the data sheet.
    Accelerator("nvidia-b300", 268),
    Accelerator("amd-mi210", 64),
    Accelerator("amd-mi300x", 192),
    Accelerator("amd-mi325x", 256),
    Accelerator("aws-trainium", 32),
    Accelerator("aws-trainium2", 96),
)
"""Those that we are sure of."""

_BY_NAME: Final = {
    name.lower(): each for each in ACCELERATORS for name in (each.name, *each.labels)
}


def find_accelerator(name: str) -> Accelerator | None:
    """The accelerator of that name or label value, in any case; None where it is not known."""
    return _BY_NAME.get(name.lower())


def accelerator_called(name: str) -> str:
    """What the catalog calls it; the name as it is where the catalog does not know it."""
    found = find_accelerator(name)
    return name if found is None else found.name
