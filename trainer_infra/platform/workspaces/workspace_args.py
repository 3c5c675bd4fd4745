"""The arguments of a Workspace."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

import pulumi

from trainer_infra.deploy.destroy_guard_resource import GuardedCluster
from trainer_infra.platform.queues.kueue_queues import Cohort, PreemptionArgs
from trainer_infra.platform.workspaces.rights import WorkspaceMember
from trainer_infra.rules.node_pool import PoolSpec


class WorkspaceArgs(TypedDict, total=False):
    """Arguments of a Workspace."""

    namespace: str
    """Name of its namespace; the workspace's unless given."""
    labels: Mapping[str, str]
    """Further labels of the namespace."""
    pod_security: Literal["baseline", "restricted", "privileged"]
    """Which pods the namespace takes; `baseline` unless given."""
    quota: Mapping[str, Any]
    """What its jobs may use, by resource, for example `{"nvidia.com/gpu": 16}`; with several pools by pool
    and resource. An amount is a number, a quantity, or `nominal`, `borrowing_limit` and `lending_limit`."""
    pools: Sequence[PoolSpec]
    """Pools that the quota is about, as `GpuNodePool.spec` has them."""
    flavor: str
    """Kueue's ResourceFlavor that the quota is about where no pool is given; `default-flavor` unless
    given."""
    flavors: pulumi.Input[Sequence[str]]
    """Flavors that the platform has, for example an output of its stack: a quota of another is refused."""
    queueing: Literal["kueue", "volcano", False]
    """What queues its jobs; `kueue` unless given, where there is a quota. With False a ResourceQuota
    holds the quota."""
    queue: str
    """Name of Kueue's LocalQueue; `default` unless given, into which Kueue puts jobs that name none."""
    cohort: pulumi.Input[str] | Cohort
    """Kueue's cohort in which it lends and borrows."""
    preemption: PreemptionArgs
    """Which jobs make room: those of a lower priority, and those that borrowed, unless given."""
    fair_sharing_weight: pulumi.Input[float | str]
    """Its part of the cohort, where Kueue shares fairly."""
    members: Sequence[WorkspaceMember]
    """Who works in it; none unless given."""
    rights: Sequence[str]
    """Sets of rights of members that name none: `sdk`, `provider`, `edit-runtimes`; `sdk` unless given."""
    runtimes: Sequence[str]
    """The only runtimes that TrainJobs may name: `NAME` of a ClusterTrainingRuntime, or
    `TrainingRuntime/NAME`; all unless given. What engine `provider` submits is not a TrainJob."""
    secrets: Mapping[str, Mapping[str, pulumi.Input[str]]]
    """Secrets of hubs and buckets, by name and key; encrypted in the state."""
    service_account: str
    """Of training pods that name it; `training` unless given."""
    service_account_annotations: Mapping[str, pulumi.Input[str]]
    """For example `eks.amazonaws.com/role-arn` or `iam.gke.io/gcp-service-account`."""
    network_policy: bool
    """Whether pods are cut off from all that training does not need; true unless given."""
    internet: bool
    """Whether training pods reach port 443 of addresses outside; true unless given."""
    egress: Sequence[pulumi.Input[Mapping[str, Any]]]
    """Where else training pods go: egress rules of a NetworkPolicy, in wire form."""
    trainer_namespace: str
    """Where Trainer's controller is; `kubeflow-system` unless given."""
    data_cache: bool
    """Whether `torch-distributed-with-cache` may start its cache here; false unless given."""
    resource_quota: Mapping[str, pulumi.Input[str | int | float]]
    """`hard` of a ResourceQuota, for example `{"pods": 100}`; without a queue beside the quota's amounts."""
    limit_range: Mapping[str, Mapping[str, pulumi.Input[str | int | float]]]
    """Limits of containers in a LimitRange, in wire form, for example `defaultRequest`."""
    guard: bool | GuardedCluster
    """Whether `destroy` is refused while there are jobs in it: true unless given. A mapping names the
    cluster to look at, where that is not the stack's own."""


EXAMPLES: Final[Mapping[str, str]] = {
    "egress": 'egress=[{"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"port": 443}]}]',
    "limit_range": 'limit_range={"defaultRequest": {"cpu": "1"}}',
    "members": 'members=[{"kind": "Group", "name": "vision-team"}]',
    "pools": "pools=[pool.spec] of GpuNodePools",
    "quota": 'quota={"nvidia.com/gpu": 16, "cpu": 64}',
    "resource_quota": 'resource_quota={"requests.nvidia.com/gpu": 16, "pods": 100}',
    "runtimes": 'runtimes=["torch-distributed", "TrainingRuntime/ours"]',
    "secrets": 'secrets={"hub": {"ACCESS_TOKEN": config.require_secret("token")}}',
    "service_account_annotations": 'service_account_annotations={"eks.amazonaws.com/role-arn": "arn:aws:iam::ACCOUNT:role/ROLE"}',
}
"""What to write of an argument."""
