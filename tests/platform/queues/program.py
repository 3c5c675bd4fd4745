"""A program with every kind of queue object and every argument; what it declares is asked of real servers."""

import json
from typing import Final

import pulumi

from trainer_infra import platform

KUBECONFIG: Final = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "west", "cluster": {"server": "https://west.example.com:6443"}}],
        "users": [{"name": "kueue", "user": {"token": "west-token"}}],
        "contexts": [{"name": "west", "context": {"cluster": "west", "user": "kueue"}}],
        "current-context": "west",
    }
)
"""Of a worker that is not there."""


def all_queues() -> None:
    """Flavors, queues, checks and priorities, each named as a component where it can be."""
    topology = platform.Topology(
        "blocks", levels=["cloud.google.com/gce-topology-block", "kubernetes.io/hostname"]
    )
    fast = platform.ResourceFlavor(
        "h100",
        labels={"pool": "h100"},
        node_labels={"cloud.google.com/gke-accelerator": "nvidia-h100-mega-80gb"},
        node_taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        topology_name=topology,
    )
    platform.ResourceFlavor("spare", name="cpu")
    company = platform.Cohort("company")
    org = platform.Cohort(
        "org",
        parent=company,
        quota={"cpu": {"cpu": {"nominal": 8, "borrowing_limit": 4, "lending_limit": 16}}},
        fair_sharing_weight="500m",
    )
    provisioning = platform.ProvisioningAdmission(
        "dws",
        provisioning_class="queued-provisioning.gke.io",
        parameters={"maxRunDurationSeconds": "604800"},
        managed_resources=["nvidia.com/gpu"],
        retry={"backoff_limit_count": 2, "backoff_base_seconds": 30, "backoff_max_seconds": 600},
        pod_set_updates=[
            {
                "key": "autoscaling.gke.io/provisioning-request",
                "value_from_detail": "ResizeRequestName",
            }
        ],
        pod_set_merge_policy="IdenticalPodTemplates",
    )
    workers = platform.MultiKueue(
        "everywhere",
        workers={
            "west": {"kubeconfig": KUBECONFIG},
            "later": {"kubeconfig": pulumi.Output.secret(KUBECONFIG)},
            "east": {"secret": "east-kubeconfig"},
            "south": {"path": "/etc/workers/south"},
            "north": {"cluster_profile": "north"},
        },
        quota_management="Manual",
    )
    vision = platform.ClusterQueue(
        "vision",
        cohort=org,
        quota={
            fast: {
                "nvidia.com/gpu": 16,
                "memory": {"nominal": "2048Gi", "borrowing_limit": "1Ti", "lending_limit": "1Ti"},
            },
            "a100": {"memory": pulumi.Output.from_input("1024Mi"), "nvidia.com/gpu": 8},
            "cpu": {"cpu": "128"},
        },
        namespace_selector={
            "matchLabels": {"team": "vision"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        },
        queueing_strategy="StrictFIFO",
        preemption={
            "within_cluster_queue": "LowerPriority",
            "reclaim_within_cohort": "Any",
            "borrow_within_cohort": {"policy": "LowerPriority", "max_priority_threshold": 100},
        },
        flavor_fungibility={
            "when_can_borrow": "TryNextFlavor",
            "when_can_preempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        },
        admission_checks=["licences", {"check": provisioning, "on_flavors": [fast]}],
        stop_policy="None",
        fair_sharing_weight=2,
        admission_mode="UsageBasedAdmissionFairSharing",
    )
    platform.ClusterQueue(
        "anywhere",
        quota={"a100": {"nvidia.com/gpu": 8}},
        admission_checks=[{"check": workers, "on_flavors": ["a100"]}],
    )
    platform.LocalQueue(
        "team",
        namespace="vision",
        cluster_queue=vision,
        stop_policy="Hold",
        fair_sharing_weight=1,
    )
    platform.WorkloadPriorityClass("high", value=1000, description="Before a deadline")
    parent = platform.VolcanoQueue("research", weight=3)
    platform.VolcanoQueue(
        "vision-volcano",
        name="vision",
        parent=parent,
        weight=2,
        capability={"cpu": 64, "memory": "256Gi"},
        deserved={"cpu": 32},
        guarantee={"cpu": "16"},
        reclaimable=False,
        priority=5,
    )
