"""A fabric: how machines of a pool talk to one another, past the network of pods.

A preset is data with a source. None was run on hardware by us: `proven` says how far each was tried.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from trainer_infra import names
from trainer_infra.catalog.fabrics.pod_patch import PodPatch, patched_runtime
from trainer_infra.catalog.machine_types import Cloud
from trainer_infra.json_values import JSONDict, JSONObject

Proven = Literal["mocks", "api", "hardware"]
"""`mocks`: objects are as written down; `api`: a real API server takes them, every field of them;
`hardware`: traffic was measured."""
FabricName = Literal["efa", "gke_rdma", "infiniband", "roce", "tcpx", "tcpxo"]

_MEMORY: Final[JSONObject] = {"name": "fabric-shared-memory", "emptyDir": {"medium": "Memory"}}
"""Room for NCCL's processes to talk within a pod: a container runtime gives 64 MiB."""
_MOUNT: Final[JSONObject] = {"name": "fabric-shared-memory", "mountPath": names.SHARED_MEMORY}


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
    """What its pods get beside that room and the pool's own variables."""


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
        """A copy of a runtime whose training pods use the fabric, as `patched_runtime` makes it."""
        return patched_runtime(runtime, self.pod_patch())

    def pod_patch(self) -> PodPatch:
        """What training pods get."""
        own = self.preset.patch(self)
        env = {**own.env, **dict(self.environment)}
        mounts, volumes = (*own.mounts, _MOUNT), (*own.volumes, _MEMORY)
        return replace(own, env=env, mounts=mounts, volumes=volumes)
