"""Arguments of a GpuNodePool.

Everything that a preview judges is a plain value. Names of what a cloud makes (a subnet, a role, a node
class) stand in the block of the backend, and may be Outputs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import pulumi

from trainer_infra.catalog.fabrics.fabric import FabricName
from trainer_infra.rules.node_pool import PoolSpec

Backend = Literal["aks", "cluster_api", "eks", "existing", "gke", "gke_compute_class", "karpenter"]
CapacityType = Literal["on-demand", "spot", "reserved", "capacity-block", "flex-start"]
Driver = Literal["managed", "gpu_operator", "device_plugin", "dra_driver", "none"]


class NodesArgs(TypedDict, total=False):
    """How many machines there are."""

    min: int
    """Machines that are always there; 0 unless given."""
    max: int
    """Most machines; `replicas` unless given."""
    replicas: int
    """A fixed number, in place of `min`: the pool does not follow demand."""


class PoolTaintArgs(TypedDict, total=False):
    """A taint of the machines."""

    key: Required[str]
    value: str
    effect: Required[Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]]


class FabricArgs(TypedDict, total=False):
    """A fabric whose machines are not as usual."""

    preset: Required[FabricName]
    """Which preset."""
    interfaces: int
    """Interfaces of one machine that pods use; what the machine type has unless given."""
    resource: str
    """By which pods ask for interfaces; the preset's unless given."""
    networks: Sequence[str]
    """Names of the Network objects beside the first interface; the preset's unless given."""
    environment: Mapping[str, str]
    """Variables beside the preset's, or in place of them."""


class KarpenterArgs(TypedDict, total=False):
    """Backend `karpenter`: a NodePool of karpenter.sh/v1 that refers to a node class of yours."""

    node_class: Required[pulumi.Input[str]]
    """Name of the node class."""
    node_class_kind: str
    """`EC2NodeClass` unless given."""
    node_class_group: str
    """`karpenter.k8s.aws` unless given."""
    consolidate_after: str
    """How long a machine may be empty, for example `30m`; `10m` unless given."""
    drifted_nodes: str
    """How many machines Karpenter replaces at a time when the node class has changed, a number or a
    percentage; `0` unless given."""
    do_not_disrupt: bool
    """Whether training pods forbid Karpenter to move them; true unless given."""
    termination_grace_period: str
    """After which a machine is taken with all pods on it, even those that forbid it."""
    weight: int
    """Which pool is tried first, 1 to 100."""
    requirements: Sequence[Mapping[str, Any]]
    """Further requirements, in wire form."""


class ComputeClassArgs(TypedDict, total=False):
    """Backend `gke_compute_class`: a ComputeClass of cloud.google.com/v1, by which GKE makes machines."""

    driver_version: Literal["default", "latest"]
    """NVIDIA's driver that GKE installs; `default` unless given."""
    auto_creation: bool
    """Whether GKE makes node pools by itself; true unless given."""
    when_unsatisfiable: Literal["DoNotScaleUp", "ScaleUpAnyway"]
    """What GKE does where it finds none of these machines; `DoNotScaleUp` unless given."""
    reservation_project: str
    """Project of the reservation; the cluster's unless given."""
    reservation_block: str
    """Block of the reservation."""
    placement_policy: str
    """Name of the policy by which machines stand close together."""
    recycling_lead_time: int
    """Seconds before the end of a flex-start machine at which GKE makes the next one."""
    node_pool_config: Mapping[str, Any]
    """Fields of nodePoolConfig, in wire form."""


class ClusterApiArgs(TypedDict, total=False):
    """Backend `cluster_api`: a MachineDeployment or MachinePool in a management cluster."""

    cluster: Required[str]
    """Name of the Cluster."""
    management: pulumi.ProviderResource
    """Provider of the management cluster; the component's own unless given."""
    namespace: str
    """Of the Cluster; `default` unless given."""
    kind: Literal["MachineDeployment", "MachinePool"]
    """`MachineDeployment` unless given."""
    version: Required[pulumi.Input[str]]
    """Kubernetes' version of the machines, for example `v1.34.4`."""
    infrastructure: Required[Mapping[str, pulumi.Input[str]]]
    """The provider's template: `apiGroup`, `kind` and `name`."""
    bootstrap: Required[Mapping[str, pulumi.Input[str]]]
    """The template that starts a machine's kubelet: `apiGroup`, `kind` and `name`."""


class GkeArgs(TypedDict, total=False):
    """Backend `gke`: what `pulumi_gcp.container.NodePool` needs beside the pool."""

    cluster: Required[pulumi.Input[str]]
    location: Required[pulumi.Input[str]]
    """Region or zone of the cluster."""
    service_account: pulumi.Input[str]
    placement_policy: pulumi.Input[str]
    """Name of the policy by which machines stand close together; not with queued provisioning."""
    networks: Sequence[Mapping[str, pulumi.Input[str]]]
    """`network` and `subnetwork` of each further interface, in their order."""
    disk_gib: int
    """Boot disk, 200 GiB unless given."""


class EksArgs(TypedDict, total=False):
    """Backend `eks`: what `pulumi_aws` needs for a launch template and a managed node group."""

    cluster: Required[pulumi.Input[str]]
    role: Required[pulumi.Input[str]]
    """ARN of the machines' role."""
    subnets: Required[Sequence[pulumi.Input[str]]]
    security_groups: Sequence[pulumi.Input[str]]
    """For EFA one of them lets all traffic of its own members in and out."""
    ami_type: str
    """`AL2023_x86_64_NVIDIA` unless given."""
    network_interfaces: Sequence[Mapping[str, Any]]
    """Of the launch template, in place of those that follow from the fabric."""
    placement_group: pulumi.Input[str]
    """Name of a group by which machines stand close together; not with a reservation."""
    disk_gib: int
    """Root disk, 200 GiB unless given."""


class AksArgs(TypedDict, total=False):
    """Backend `aks`: what `pulumi_azure_native.containerservice.AgentPool` needs beside the pool."""

    cluster: Required[pulumi.Input[str]]
    resource_group: Required[pulumi.Input[str]]
    subnet: pulumi.Input[str]
    """Id of the machines' subnet."""
    os_sku: str
    """`Ubuntu` unless given."""
    capacity_reservation_group: pulumi.Input[str]
    """Id of the group that `reservation` is in."""
    disk_gib: int
    """Disk of the system, 200 GiB unless given."""


Factory = Callable[[PoolSpec, Any], pulumi.Resource | Sequence[pulumi.Resource]]
"""Makes the cloud's resources: takes the pool, and the keyword arguments that follow from it, `opts` among
them (`gke.GkeNodePool`, `eks.EksPool` or `aks.AksAgentPool`)."""


class GpuNodePoolArgs(TypedDict, total=False):
    """Arguments of GpuNodePool."""

    backend: Required[Backend]
    """Who makes the machines."""
    nodes: Required[NodesArgs]
    """How many there are."""
    accelerator: str
    """As the catalog calls it (`nvidia-h100-80gb`), or as a node label does; the machine type's unless
    given."""
    machine_type: str
    """As the cloud calls it (`p5.48xlarge`)."""
    gpus_per_node: int
    """Accelerators of one machine; the machine type's unless given."""
    resource: str
    """By which pods ask for them; by the vendor unless given: `nvidia.com/gpu`."""
    capacity: Mapping[str, str | int]
    """What one machine has for pods, by resource; from the machine type unless given."""
    capacity_type: CapacityType
    """How machines are bought; `on-demand` unless given."""
    reservation: str
    """Name or id of the reservation that they are taken from."""
    max_run_duration: int
    """Seconds after which the cloud takes a flex-start machine away."""
    provisioning_class: str
    """Class of ProvisioningRequests by which Kueue asks for a job's machines."""
    zones: Sequence[str]
    """Zones of the machines."""
    labels: Mapping[str, str]
    """Labels of the machines; of backend `existing` those that they are chosen by."""
    taints: Sequence[PoolTaintArgs]
    """Taints of the machines; the cloud's usual one unless given."""
    driver: Driver
    """Who installs the accelerators' driver; `managed` by the cloud unless given."""
    topology: Sequence[str]
    """Labels of the topology's levels, broadest first. Unless given, those of the machine type where
    machines stay, and none elsewhere."""
    domain_nodes: Mapping[str, int]
    """Most machines of one domain, by the label of the level: policy judges gangs by it."""
    fabric: FabricName | FabricArgs
    """How machines talk to one another; plain TCP unless given."""
    queueing: bool
    """Whether to make Kueue's ResourceFlavor and Topology; true unless given."""
    karpenter: KarpenterArgs
    gke_compute_class: ComputeClassArgs
    cluster_api: ClusterApiArgs
    gke: GkeArgs
    eks: EksArgs
    aks: AksArgs
    factory: Factory
    """Of the backends `gke`, `eks` and `aks`: makes the cloud's resources."""
