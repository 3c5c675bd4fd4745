"""Machine types of the clouds that have accelerators, as typed data.

A pool's capacity, quota and fabric follow from its type. Accelerators, cores and memory are what the cloud's own
pages say of it; memory of one accelerator is in `accelerators`. Only what we are sure of is here: a pool of another
type says its `capacity` itself.

Read in 2026-10: Amazon EC2, accelerated computing instances, maximum EFA interfaces and instance topology;
Azure virtual machines, sizes of the series ND and NC; Compute Engine, GPU machine types; GKE, networking and
topology of GPU machines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Final, Literal

from trainer_infra.words import nearest

Cloud = Literal["aws", "azure", "gcp"]
NVIDIA_GPU: Final = "nvidia.com/gpu"
"""The resource that NVIDIA's device plugin serves."""


@dataclass(frozen=True, slots=True)
class MachineType:
    """A kind of machine of a cloud."""

    name: str
    """As the cloud calls it."""
    accelerator: str
    """As `accelerators` calls it."""
    accelerators: int
    """How many one machine has."""
    cores: int
    """Virtual cores."""
    memory: int
    """GiB."""
    cloud: Cloud
    efa: int = 0
    """Most EFA interfaces; 0 where it has none."""
    fabrics: tuple[str, ...] = ()
    """Presets of `fabrics` that it has the hardware of, the usual one first."""
    networks: int = 0
    """Interfaces beside the first one, each of which is a network of its own."""
    levels: tuple[str, ...] = ()
    """Labels of topology that its nodes have, broadest first, the host's name not among them."""

    @property
    def kind(self) -> str:
        """The resource by which pods ask for its accelerators."""
        return accelerator_resource(self.accelerator)


AWS_LEVELS: Final = tuple(f"topology.k8s.aws/network-node-layer-{each}" for each in (1, 2, 3))
"""What EKS labels nodes with; layer 1 is the broadest."""
GKE_LEVELS: Final = tuple(
    f"cloud.google.com/gce-topology-{each}" for each in ("block", "subblock", "host")
)
"""What GKE labels nodes with whose machines are placed densely."""
HOSTNAME: Final = "kubernetes.io/hostname"
"""The lowest level that a topology can have: one node."""

_EFA: Final = ("efa",)
_aws = partial(MachineType, cloud="aws")
_efa = partial(MachineType, cloud="aws", fabrics=_EFA)
_hpc = partial(MachineType, cloud="aws", fabrics=_EFA, levels=AWS_LEVELS)
_gcp = partial(MachineType, cloud="gcp")
_azure = partial(MachineType, cloud="azure")
_nd = partial(MachineType, cloud="azure", fabrics=("infiniband",), networks=8)

MACHINE_TYPES: Final[tuple[MachineType, ...]] = (
    _hpc("p4d.24xlarge", "nvidia-a100-40gb", 8, 96, 1152, efa=4),
    _hpc("p4de.24xlarge", "nvidia-a100-80gb", 8, 96, 1152, efa=4),
    _efa("p5.4xlarge", "nvidia-h100-80gb", 1, 16, 256, efa=1),
    _hpc("p5.48xlarge", "nvidia-h100-80gb", 8, 192, 2048, efa=32),
    _hpc("p5e.48xlarge", "nvidia-h200", 8, 192, 2048, efa=32),
    _hpc("p5en.48xlarge", "nvidia-h200", 8, 192, 2048, efa=16),
    _hpc("p6-b200.48xlarge", "nvidia-b200", 8, 192, 2048, efa=8),
    _hpc("p6-b300.48xlarge", "nvidia-b300", 8, 192, 4096, efa=16),
    _hpc("trn1.32xlarge", "aws-trainium", 16, 128, 512, efa=8),
    _hpc("trn1n.32xlarge", "aws-trainium", 16, 128, 512, efa=16),
    _hpc("trn2.48xlarge", "aws-trainium2", 16, 192, 2048, efa=16),
    _aws("g4dn.xlarge", "nvidia-t4", 1, 4, 16),
    _aws("g4dn.2xlarge", "nvidia-t4", 1, 8, 32),
    _aws("g4dn.4xlarge", "nvidia-t4", 1, 16, 64),
    _efa("g4dn.8xlarge", "nvidia-t4", 1, 32, 128, efa=1),
    _efa("g4dn.12xlarge", "nvidia-t4", 4, 48, 192, efa=1),
    _efa("g4dn.metal", "nvidia-t4", 8, 96, 384, efa=1),
    _aws("g5.xlarge", "nvidia-a10g", 1, 4, 16),
    _aws("g5.2xlarge", "nvidia-a10g", 1, 8, 32),
    _aws("g5.4xlarge", "nvidia-a10g", 1, 16, 64),
    _efa("g5.8xlarge", "nvidia-a10g", 1, 32, 128, efa=1),
    _efa("g5.12xlarge", "nvidia-a10g", 4, 48, 192, efa=1),
    _efa("g5.24xlarge", "nvidia-a10g", 4, 96, 384, efa=1),
    _efa("g5.48xlarge", "nvidia-a10g", 8, 192, 768, efa=1),
    _aws("g6.xlarge", "nvidia-l4", 1, 4, 16),
    _aws("g6.2xlarge", "nvidia-l4", 1, 8, 32),
    _aws("g6.4xlarge", "nvidia-l4", 1, 16, 64),
    _efa("g6.8xlarge", "nvidia-l4", 1, 32, 128, efa=1),
    _efa("g6.12xlarge", "nvidia-l4", 4, 48, 192, efa=1),
    _efa("g6.24xlarge", "nvidia-l4", 4, 96, 384, efa=1),
    _efa("g6.48xlarge", "nvidia-l4", 8, 192, 768, efa=1),
    _aws("g6e.xlarge", "nvidia-l40s", 1, 4, 32),
    _aws("g6e.2xlarge", "nvidia-l40s", 1, 8, 64),
    _aws("g6e.4xlarge", "nvidia-l40s", 1, 16, 128),
    _efa("g6e.8xlarge", "nvidia-l40s", 1, 32, 256, efa=1),
    _efa("g6e.12xlarge", "nvidia-l40s", 4, 48, 384, efa=1),
    _efa("g6e.24xlarge", "nvidia-l40s", 4, 96, 768, efa=2),
    _efa("g6e.48xlarge", "nvidia-l40s", 8, 192, 1536, efa=4),
    _gcp("a2-highgpu-1g", "nvidia-a100-40gb", 1, 12, 85),
    _gcp("a2-highgpu-2g", "nvidia-a100-40gb", 2, 24, 170),
    _gcp("a2-highgpu-4g", "nvidia-a100-40gb", 4, 48, 340),
    _gcp("a2-highgpu-8g", "nvidia-a100-40gb", 8, 96, 680),
    _gcp("a2-megagpu-16g", "nvidia-a100-40gb", 16, 96, 1360),
    _gcp("a2-ultragpu-1g", "nvidia-a100-80gb", 1, 12, 170),
    _gcp("a2-ultragpu-2g", "nvidia-a100-80gb", 2, 24, 340),
    _gcp("a2-ultragpu-4g", "nvidia-a100-80gb", 4, 48, 680),
    _gcp("a2-ultragpu-8g", "nvidia-a100-80gb", 8, 96, 1360),
    _gcp("a3-highgpu-1g", "nvidia-h100-80gb", 1, 26, 234),
    _gcp("a3-highgpu-2g", "nvidia-h100-80gb", 2, 52, 468),
    _gcp("a3-highgpu-4g", "nvidia-h100-80gb", 4, 104, 936),
    _gcp("a3-highgpu-8g", "nvidia-h100-80gb", 8, 208, 1872, fabrics=("tcpx",), networks=4),
    _gcp("a3-megagpu-8g", "nvidia-h100-80gb", 8, 208, 1872, fabrics=("tcpxo",), networks=8,
         levels=GKE_LEVELS),
    _gcp("a3-ultragpu-8g", "nvidia-h200", 8, 224, 2952, fabrics=("gke_rdma",), networks=9,
         levels=GKE_LEVELS),
    _gcp("a4-highgpu-8g", "nvidia-b200", 8, 224, 3968, fabrics=("gke_rdma",), networks=9,
         levels=GKE_LEVELS),
    _gcp("g2-standard-4", "nvidia-l4", 1, 4, 16),
    _gcp("g2-standard-8", "nvidia-l4", 1, 8, 32),
    _gcp("g2-standard-12", "nvidia-l4", 1, 12, 48),
    _gcp("g2-standard-16", "nvidia-l4", 1, 16, 64),
    _gcp("g2-standard-24", "nvidia-l4", 2, 24, 96),
    _gcp("g2-standard-32", "nvidia-l4", 1, 32, 128),
    _gcp("g2-standard-48", "nvidia-l4", 4, 48, 192),
    _gcp("g2-standard-96", "nvidia-l4", 8, 96, 384),
    _nd("Standard_ND96asr_v4", "nvidia-a100-40gb", 8, 96, 900),
    _nd("Standard_ND96amsr_A100_v4", "nvidia-a100-80gb", 8, 96, 1900),
    _nd("Standard_ND96isr_H100_v5", "nvidia-h100-80gb", 8, 96, 1900),
    _nd("Standard_ND96isr_H200_v5", "nvidia-h200", 8, 96, 1850),
    _nd("Standard_ND96isr_MI300X_v5", "amd-mi300x", 8, 96, 1850),
    _azure("Standard_NC24ads_A100_v4", "nvidia-a100-80gb", 1, 24, 220),
    _azure("Standard_NC48ads_A100_v4", "nvidia-a100-80gb", 2, 48, 440),
    _azure("Standard_NC96ads_A100_v4", "nvidia-a100-80gb", 4, 96, 880),
    _azure("Standard_NC40ads_H100_v5", "nvidia-h100-nvl", 1, 40, 320),
    _azure("Standard_NC80adis_H100_v5", "nvidia-h100-nvl", 2, 80, 640),
)  # fmt: skip
"""Those that we are sure of."""

_BY_NAME: Final = {each.name.lower(): each for each in MACHINE_TYPES}
_RESOURCES: Final = {"amd": "amd.com/gpu", "aws": "aws.amazon.com/neuron"}
"""By the vendor that an accelerator's name begins with."""
_CPU_RESERVED: Final = ((1, 60), (1, 10), (2, 5))
"""Thousandths of each of the first cores; of all others 2.5."""
_MEMORY_RESERVED: Final = ((4, 25), (4, 20), (8, 10), (112, 6))
"""Hundredths of each of the first GiB; of all others 2."""
_EVICTION: Final = 100
"""MiB at which the kubelet evicts pods."""


def find_machine_type(name: str) -> MachineType | None:
    """The machine type of that name, in any case; None where it is not known."""
    return _BY_NAME.get(name.lower())


def near_machine_types(name: str) -> Sequence[str]:
    """At most three names that are like it, most like it first."""
    return nearest(name, (each.name for each in MACHINE_TYPES), 3, alike=0.7, any_case=True)


def machine_types_with(accelerator: str, count: int, cloud: Cloud) -> Sequence[MachineType]:
    """The machine types of a cloud with so many of an accelerator."""
    wanted = (accelerator, count, cloud)
    has = attrgetter("accelerator", "accelerators", "cloud")
    return [each for each in MACHINE_TYPES if has(each) == wanted]


def accelerator_resource(accelerator: str) -> str:
    """The resource by which pods ask for an accelerator of the catalog."""
    return _RESOURCES.get(accelerator.partition("-")[0], NVIDIA_GPU)


def room_for_pods(cores: int, memory: int) -> Mapping[str, str]:
    """What a machine of so much memory in GiB has left for pods: `cpu` in thousandths, `memory` in MiB.

    The formula is GKE's, which keeps back more than EKS and AKS do: what fits into it fits on each.
    """
    cpu = cores * 1000 - _taken(cores, _CPU_RESERVED, 2.5)
    taken = _taken(memory, _MEMORY_RESERVED, 2) * 1024 / 100
    return {"cpu": f"{int(cpu)}m", "memory": f"{int(memory * 1024 - taken - _EVICTION)}Mi"}


def _taken(whole: int, steps: Sequence[tuple[int, int]], beyond: float) -> float:
    taken, left = 0.0, whole
    for size, share in steps:
        taken += min(size, left) * share
        left -= min(size, left)
    return taken + left * beyond
