"""What a declared pool of machines comes to: what its flavor, queues, runtimes and policy take.

The platform's GpuNodePool makes one. Nothing here is judged; the component judged what it is made of.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainer_infra.api import quantity
from trainer_infra.catalog.fabrics.fabric import Fabric
from trainer_infra.catalog.fabrics.pod_patch import PodPatch, patched_runtime
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.rules.pool import Pool, Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """A pool of machines of one kind."""

    name: str
    """Of the pool and its machines' label."""
    resource: str
    """By which pods ask for its accelerators: `nvidia.com/gpu`."""
    gpus_per_node: int
    """Accelerators of one machine."""
    max_nodes: int
    """Most machines that there are."""
    capacity: Mapping[str, str | int]
    """What one machine has for pods, by resource, the accelerators and the fabric's among them."""
    labels: Mapping[str, str]
    """What its machines are chosen by: the flavor's nodeLabels."""
    own_labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the program gives its machines."""
    node_labels: Mapping[str, str]
    """All labels that its machines are known to have, those of `labels` among them."""
    taints: tuple[JSONObject, ...] = ()
    """Taints of its machines, in wire form."""
    tolerations: tuple[JSONObject, ...] = ()
    """What pods need so that its taints let them in, in wire form."""
    topology: tuple[str, ...] = ()
    """Labels of its levels, broadest first; empty where jobs are not placed by topology."""
    domain_nodes: Mapping[str, int] | None = None
    """Most machines of one domain, by the label of the level."""
    accelerator: str | None = None
    """As the catalog calls it."""
    machine_type: str | None = None
    """As the cloud calls it."""
    backend: str = "existing"
    """Who makes the machines."""
    min_nodes: int = 0
    """Machines that are always there."""
    is_static: bool = False
    """Whether there is always the same number of machines."""
    zones: tuple[str, ...] = ()
    """Zones of its machines; empty where the backend chooses."""
    capacity_type: str = "on-demand"
    """How machines are bought: on-demand, spot, reserved, capacity-block or flex-start."""
    reservation: str | None = None
    """What machines are taken from; None where they are bought one by one."""
    max_run_duration: int | None = None
    """Seconds after which the cloud takes a machine away; None where it does not."""
    provisioning_class: str | None = None
    """The class of ProvisioningRequests that makes its machines for a job; None where none does."""
    driver: str = "none"
    """Who installs the accelerators' driver: managed, gpu_operator, device_plugin, dra_driver or none."""
    fabric: Fabric | None = None
    """How its machines talk to one another; None for plain TCP."""
    pod_annotations: Mapping[str, str] | None = None
    """What its backend wants to see on pods that must not be moved."""
    queueing: bool = True
    """Whether Kueue has a flavor of it."""

    @property
    def flavor_name(self) -> str | None:
        """Name of its ResourceFlavor; None where Kueue has none."""
        return self.name if self.queueing else None

    @property
    def topology_name(self) -> str | None:
        """Name of its Topology; None where jobs are not placed by one."""
        return self.name if self.queueing and self.topology else None

    @property
    def quota(self) -> Mapping[str, str]:
        """What all of its machines have, by resource: the most that queues can promise."""
        return self.quota_of(self.max_nodes)

    def quota_of(self, nodes: int) -> Mapping[str, str]:
        """What so many of its machines have, by resource."""
        found = {name: quantity.read_quantity(each) for name, each in self.capacity.items()}
        return {name: str(each.times(nodes)) for name, each in found.items()}

    @property
    def preemptible(self) -> bool:
        """Whether machines can be taken away at any time."""
        return self.capacity_type == "spot"

    def as_policy_pool(self) -> Pool:
        """What policy judges by."""
        return Pool(
            name=self.name,
            capacity=dict(self.capacity),
            nodes=self.max_nodes,
            accelerator=self.accelerator,
            labels=dict(self.node_labels),
            taints=tuple(Taint(**each) for each in self.taints),
            preemptible=self.preemptible,
            topology=dict(self.domain_nodes or {}),
        )

    def wired_runtime(self, runtime: JSONObject) -> JSONDict:
        """A runtime for this pool: its fabric, all accelerators of a machine, and its tolerations.

        Accelerators stand in the runtime, which is in wire form, because Trainer up to 2.2.1 lets a
        TrainJob's resourcesPerNode take the fabric's resource away (kubeflow/trainer#3551): such a
        job names none.

        Raises:
            InvalidInput: It has no job that trains, or has what the fabric brings under the same name.
        """
        own = PodPatch(
            annotations=dict(self.pod_annotations or {}),
            resources={self.resource: self.gpus_per_node},
            tolerations=self.tolerations,
        )
        wired: Any = patched_runtime(runtime, own)
        return wired if self.fabric is None else self.fabric.wired_runtime(wired)
