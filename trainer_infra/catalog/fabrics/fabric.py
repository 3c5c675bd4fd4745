"""A fabric: how machines of a pool talk to one another, past the network of pods.

A preset is data with a source. None was run on hardware by us: `proven` says how far each was tried.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from trainer_infra.catalog.fabrics.pod_patch import PodPatch, patched_runtime
from trainer_infra.catalog.machine_types import Cloud
from trainer_infra.json_values import JSONDict, JSONObject

Proven = Literal["mocks", "api", "hardware"]
"""`mocks`: objects are as written down; `api`: a real API server takes them, every field of them;
`hardware`: traffic was measured."""
FabricName = Literal["efa", "gke_rdma", "infiniband", "roce", "tcpx", "tcpxo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricPreset:
    """What is known of a fabric."""

    name: FabricName
    title: str
    """As its vendor calls it."""
    cloud: Cloud | None
    """Where it is; None where machines of any place can have it."""
    source: str
    """The public text that the preset follows."""
    date: str
    """When that was read."""
    proven: Proven
    interfaces: int
    """Interfaces that a machine has unless its type says so; 0 where it must be given."""
    resource: str
    """The resource by which pods ask for interfaces; empty where annotations do."""
    patch: Callable[["Fabric"], PodPatch]
    """What its pods get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """A preset with what one pool has of it: a mixin of runtimes."""

    preset: FabricPreset
    interfaces: int
    """Of one machine."""
    resource: str
    """By which pods ask for interfaces; empty where annotations do."""
    networks: tuple[str, ...] = ()
    """Names of the Network objects beside the first interface, in the order of the interfaces."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables beside the preset's, or in place of them."""

    @property
    def name(self) -> FabricName:
        """Name of the preset."""
        return self.preset.name

    def wired_runtime(self, runtime: JSONObject) -> JSONDict:
        """A copy of a runtime whose training pods use the fabric.

        Args:
            runtime: a TrainingRuntime or ClusterTrainingRuntime, in wire form.

        Raises:
            InvalidInput: It has no job that trains, or has a volume or container of the fabric's name.
        """
        return patched_runtime(runtime, self.pod_patch())

    def pod_patch(self) -> PodPatch:
        """What training pods get."""
        return self.preset.patch(self)
