"""Pools on every backend that writes objects of a cluster; what they declare is asked of a real server."""

from collections.abc import Mapping
from typing import Any

from trainer_infra import platform

KARPENTER: Mapping[str, Any] = {"backend": "karpenter", "karpenter": {"node_class": "gpu"}}
REFERENCE = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "g"}
CLUSTERS: Mapping[str, Mapping[str, Any]] = {
    "aks": {"cluster": "prod", "resource_group": "training"},
    "cluster_api": {
        "cluster": "prod",
        "version": "v1.34.4",
        "infrastructure": REFERENCE,
        "bootstrap": REFERENCE,
    },
    "eks": {
        "cluster": "prod",
        "role": "arn:aws:iam::1:role/nodes",
        "subnets": ["subnet-1"],
        "security_groups": ["sg-1"],
    },
    "gke": {"cluster": "prod", "location": "europe-west4"},
}
"""By backend, what names the cluster to it."""
CLUSTER_API: Mapping[str, Any] = {"backend": "cluster_api", "cluster_api": CLUSTERS["cluster_api"]}
POOLS: Mapping[str, Mapping[str, Any]] = {
    "karpenter": {**KARPENTER, "machine_type": "p5.48xlarge", "nodes": {"max": 16}, "fabric": "efa"},
    "karpenter-static": {
        **KARPENTER,
        "machine_type": "p5en.48xlarge",
        "nodes": {"replicas": 4, "max": 6},
        "capacity_type": "capacity-block",
        "reservation": "cr-1",
        "zones": ["us-east-2a"],
    },
    "karpenter-own": {
        "backend": "karpenter",
        "machine_type": "g5.12xlarge",
        "nodes": {"max": 4},
        "labels": {"team": "vision"},
        "taints": [{"key": "training", "effect": "NoExecute"}],
        "karpenter": {
            "node_class": "gpu",
            "weight": 10,
            "drifted_nodes": "10%",
            "consolidate_after": "1h",
            "do_not_disrupt": False,
            "termination_grace_period": "24h",
        },
    },
    "cluster-api": {**CLUSTER_API, "machine_type": "p5.48xlarge", "nodes": {"max": 16}},
    "cluster-api-pool": {
        "backend": "cluster_api",
        "machine_type": "p5.48xlarge",
        "nodes": {"replicas": 2},
        "zones": ["a", "b"],
        "cluster_api": {**CLUSTERS["cluster_api"], "kind": "MachinePool"},
    },
    "existing": {
        "backend": "existing",
        "machine_type": "a3-megagpu-8g",
        "nodes": {"max": 8},
        "fabric": "tcpxo",
        "taints": [{"key": f"k{each}", "effect": "NoSchedule"} for each in range(8)],
    },
}  # fmt: skip


def all_pools() -> None:
    """A pool of each."""
    for name, args in POOLS.items():
        platform.GpuNodePool(name, **args)
