"""A program with all that a workspace can have; what it declares is asked of a real server."""

from typing import Any

from trainer_infra import platform
from trainer_infra.rules.node_pool import PoolSpec

POOL = PoolSpec(
    name="h100",
    resource="nvidia.com/gpu",
    gpus_per_node=8,
    max_nodes=16,
    capacity={"nvidia.com/gpu": 8, "cpu": "190", "memory": "2000Gi", "vpc.amazonaws.com/efa": 32},
    labels={"pool": "h100"},
    node_labels={"pool": "h100"},
)
MEMBERS: Any = [
    {"kind": "Group", "name": "oidc:vision"},
    {"kind": "User", "name": "bob@example.com", "rights": ["sdk", "edit-runtimes"]},
    {"kind": "ServiceAccount", "name": "ci", "namespace": "builds", "rights": ["provider"]},
]


def all_workspaces() -> None:
    """All that a workspace can have, in both forms of a quota."""
    common: Any = {
        "members": MEMBERS,
        "secrets": {"hub": {"ACCESS_TOKEN": "hf_123"}, "bucket": {"a.b-c_D": ""}},
        "service_account_annotations": {"iam.gke.io/gcp-service-account": "a@b.example.com"},
        "data_cache": True,
        "egress": [{"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"port": 9000}]}],
        "runtimes": ["torch-distributed", "TrainingRuntime/ours"],
    }
    platform.Workspace(
        "vision",
        quota={"nvidia.com/gpu": 16, "cpu": "500"},
        pools=[POOL],
        cohort="org",
        fair_sharing_weight=2,
        pod_security="restricted",
        labels={"cost": "vision"},
        resource_quota={"pods": 100},
        limit_range={"default": {"memory": "1Gi"}, "max": {"cpu": 64}},
        **common,
    )
    platform.Workspace("audio", quota={"cpu": 8, "memory": "64Gi"}, queueing=False, **common)
