"""What a program said of a pool, looked up in the catalog: what checks judge and backends read.

Reading never fails: what is not known is None or empty, and a check says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from trainer_infra.catalog.accelerators import Accelerator, find_accelerator
from trainer_infra.catalog.fabrics import FABRICS
from trainer_infra.catalog.fabrics.fabric import FabricPreset
from trainer_infra.catalog.machine_types import (
    HOSTNAME,
    Cloud,
    MachineType,
    accelerator_resource,
    find_machine_type,
    machine_types_with,
)
from trainer_infra.platform.pools.pool_arguments import FabricArgs, GpuNodePoolArgs, NodesArgs

CLOUDS: Final[Mapping[str, Cloud]] = {
    "aks": "azure",
    "eks": "aws",
    "gke": "gcp",
    "gke_compute_class": "gcp",
    "karpenter": "aws",
}
"""Where a backend makes machines; the others do anywhere."""
_KARPENTER_CLOUDS: Final[Mapping[str, Cloud]] = {
    "karpenter.k8s.aws": "aws",
    "karpenter.azure.com": "azure",
    "karpenter.k8s.gcp": "gcp",
}
GKE_ACCELERATOR: Final = "cloud.google.com/gke-accelerator"
KARPENTER_GPU: Final = "karpenter.k8s.aws/instance-gpu-name"
_MEGA: Final = "nvidia-h100-mega-80gb"
GKE_FABRICS: Final = ("tcpx", "tcpxo", "gke_rdma")
"""With a network for each interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A pool as a program declares it."""

    name: str
    args: GpuNodePoolArgs
    backend: str
    cloud: Cloud | None
    """None where machines can be of any place."""
    accelerator: Accelerator | None
    machines: tuple[MachineType, ...]
    """The machine type, or all of the cloud's that fit where the program names none."""
    gpus: int | None
    """Accelerators of one machine."""
    resource: str
    nodes: NodesArgs
    fabric: FabricPreset | None

    @property
    def is_static(self) -> bool:
        """Whether the pool keeps a fixed number of machines."""
        return "replicas" in self.nodes

    @property
    def least(self) -> int:
        """Machines that are always there."""
        return self.nodes.get("replicas", self.nodes.get("min", 0))

    @property
    def most(self) -> int:
        """Machines that there are at most."""
        return self.nodes.get("max", self.nodes.get("replicas", 0))

    @property
    def keeps_nodes(self) -> bool:
        """Whether Kueue sees machines before a job asks for them."""
        stays = self.backend == "existing" or self.least > 0
        return stays or "provisioning_class" in self.args

    @property
    def capacity_type(self) -> str:
        """How machines are bought."""
        return self.args.get("capacity_type", "on-demand")

    @property
    def fabric_args(self) -> FabricArgs:
        """What the program says of the fabric; only with a fabric."""
        return _fabric_arguments(self.args)

    @property
    def levels(self) -> tuple[str, ...]:
        """Levels of the topology, the program's or those that follow from the machines."""
        if "topology" in self.args:
            return tuple(self.args["topology"])
        found = {each.levels for each in self.machines}
        known = found.pop() if len(found) == 1 else ()
        return (*known, HOSTNAME) if known and self.keeps_nodes and self.queues else ()

    @property
    def queues(self) -> bool:
        """Whether Kueue gets a flavor."""
        return self.args.get("queueing", True)

    def block(self, backend: str) -> Mapping[str, Any]:
        """The backend's own arguments."""
        return cast("Mapping[str, Mapping[str, Any]]", self.args).get(backend, {})


def read_declaration(name: str, args: GpuNodePoolArgs) -> Declaration:
    """The declaration of a pool from the arguments of a program."""
    backend = args.get("backend", "")
    cloud = _cloud(backend, args)
    named = find_machine_type(args.get("machine_type", ""))
    accelerator = find_accelerator(args.get("accelerator") or (named.accelerator if named else ""))
    gpus = args.get("gpus_per_node", named.accelerators if named else None)
    machines: tuple[MachineType, ...] = (named,) if named else ()
    if "machine_type" not in args and accelerator and gpus is not None and cloud:
        machines = tuple(machine_types_with(accelerator.name, gpus, cloud))
    kind = accelerator.name if accelerator else args.get("accelerator", "")
    return Declaration(
        name=name,
        args=args,
        backend=backend,
        cloud=cloud or (named.cloud if named else None),
        accelerator=accelerator,
        machines=machines,
        gpus=gpus,
        resource=args.get("resource", accelerator_resource(kind)),
        nodes=args.get("nodes", {}),
        fabric=FABRICS.get(_fabric_arguments(args)["preset"]) if "fabric" in args else None,
    )


def _fabric_arguments(args: GpuNodePoolArgs) -> FabricArgs:
    """The fabric's arguments, of a name too."""
    given = args["fabric"]
    return {"preset": given} if isinstance(given, str) else given


def _cloud(backend: str, args: GpuNodePoolArgs) -> Cloud | None:
    if backend == "karpenter":
        group = args.get("karpenter", {}).get("node_class_group", "karpenter.k8s.aws")
        return _KARPENTER_CLOUDS.get(group)
    return CLOUDS.get(backend)


def gke_accelerator(declared: Declaration) -> str | None:
    """What GKE calls the accelerator: of A3 Mega machines it has a name of its own."""
    if declared.accelerator is None:
        return None
    if any(each.name == "a3-megagpu-8g" for each in declared.machines):
        return _MEGA
    others = (each for each in declared.accelerator.labels if each != _MEGA)
    return next((each for each in others if each.startswith("nvidia-")), declared.accelerator.name)


def karpenter_gpu(declared: Declaration) -> str | None:
    """What Karpenter calls it on AWS; None where that name is another accelerator's as well."""
    known = declared.accelerator.labels if declared.accelerator else ()
    return next((each for each in known if each.islower() and "-" not in each), None)


def accelerator_labels(declared: Declaration) -> Mapping[str, str]:
    """The labels that machines of the pool have for their accelerators."""
    on_gke = declared.cloud == "gcp" and declared.backend != "cluster_api"
    found = {
        GKE_ACCELERATOR: gke_accelerator(declared) if on_gke else None,
        KARPENTER_GPU: karpenter_gpu(declared) if declared.backend == "karpenter" else None,
    }
    return {key: each for key, each in found.items() if each is not None}
