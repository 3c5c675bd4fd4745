"""The arguments of a Workspace."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

import pulumi

from trainer_infra.platform.workspaces.member import WorkspaceMember


class WorkspaceArgs(TypedDict, total=False):
    """Arguments of a Workspace."""

    namespace: str
    """Name of its namespace; the workspace's unless given."""
    labels: Mapping[str, str]
    """Further labels of the namespace."""
    pod_security: Literal["baseline", "restricted", "privileged"]
    """Which pods the namespace takes; `baseline` unless given."""
    members: Sequence[WorkspaceMember]
    """Who works in it; none unless given."""
    rights: Sequence[str]
    """Sets of rights of members that name none: `sdk`, `provider`, `edit-runtimes`; `sdk` unless given."""
    runtimes: Sequence[str]
    """The only runtimes that TrainJobs may name: `NAME` of a ClusterTrainingRuntime, or
    `TrainingRuntime/NAME`; all unless given. What engine `provider` submits is no TrainJob."""
    secrets: Mapping[str, Mapping[str, pulumi.Input[str]]]
    """Secrets of hubs and buckets, by name and key; encrypted in the state."""
    service_account: str
    """Of training pods; `default` unless given, which pods have that name none."""
    service_account_annotations: Mapping[str, pulumi.Input[str]]
    """For example `eks.amazonaws.com/role-arn` or `iam.gke.io/gcp-service-account`."""
    network_policy: bool
    """Whether pods are cut off from all that training does not need; true unless given."""
    internet: bool
    """Whether training pods reach port 443 of addresses outside; true unless given."""
    egress: Sequence[Mapping[str, Any]]
    """Where else training pods go: egress rules of a NetworkPolicy, in wire form."""
    trainer_namespace: str
    """Where Trainer's controller is; `kubeflow-system` unless given."""
    data_cache: bool
    """Whether `torch-distributed-with-cache` may start its cache here; false unless given."""
    resource_quota: Mapping[str, pulumi.Input[str | int | float]]
    """`hard` of a ResourceQuota, for example `{"pods": 100}`; none unless given, where there is a queue."""
    limit_range: Mapping[str, Any]
    """Limits of containers in a LimitRange, in wire form, for example `defaultRequest`."""
