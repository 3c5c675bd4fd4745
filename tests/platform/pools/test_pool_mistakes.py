"""Every argument of a pool that cannot work is a sentence of the preview, all of them at once."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.platform.declared_resources import declared_resources
from tests.platform.pools.refusal import pool_refusal
from trainer_infra import platform

EXISTING: Mapping[str, Any] = {
    "backend": "existing",
    "machine_type": "p5.48xlarge",
    "nodes": {"max": 4},
}
KARPENTER: Mapping[str, Any] = {
    "backend": "karpenter",
    "karpenter": {"node_class": "gpu"},
    "machine_type": "p5.48xlarge",
    "nodes": {"max": 4},
}
GKE: Mapping[str, Any] = {
    "backend": "gke",
    "gke": {"cluster": "c", "location": "europe-west4"},
    "machine_type": "a3-megagpu-8g",
    "nodes": {"max": 4},
    "factory": lambda _pool, _args: [],
}
STATIC = {"nodes": {"replicas": 4}}

MISTAKES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], str]] = {
    "no backend": (
        {},
        {"machine_type": "p5.48xlarge", "nodes": {"max": 4}},
        "backend: is missing; use aks, cluster_api, eks, existing, gke, gke_compute_class, karpenter",
    ),
    "a backend that is none": (
        EXISTING,
        {"backend": "karpentr"},
        "backend: must be aks or cluster_api or eks or existing or gke or gke_compute_class or karpenter, got 'karpentr'; did you mean karpenter?",
    ),
    "an argument that is none": (EXISTING, {"accelerators": "x"}, "accelerators: is not an argument"),
    "an Output where a value is judged": (
        EXISTING,
        {"machine_type": pulumi.Output.from_input("p5.48xlarge")},
        "machine_type: is an Output, whose value the preview does not know; write the value itself",
    ),
    "a number of nodes for the nodes": (
        EXISTING,
        {"nodes": 4},
        "nodes: must be a mapping, got 4",
    ),
    "a key of nodes that is none": (
        EXISTING,
        {"nodes": {"max": 4, "count": 3}},
        "nodes.count: is not a known field here; use min, max, replicas",
    ),
    "a fabric without a preset": (
        EXISTING,
        {"fabric": {"interfaces": 4}},
        "fabric.preset: is missing",
    ),
    "a block of another backend": (
        EXISTING,
        {"karpenter": {"node_class": "gpu"}},
        ("karpenter: belongs to another backend; this pool's backend is existing; leave it out, or say "
        "backend='karpenter'"),
    ),
    "a block without what it needs": (
        KARPENTER,
        {"karpenter": {}},
        "karpenter.node_class: is missing",
    ),
    "a cloud's pool without a factory": (
        GKE,
        {"factory": None},
        ("factory: is missing: gke has a package of its own; pass factory=, a function that makes the "
        "cloud's resources (docs/gpu-node-pools.md)"),
    ),
    "a factory that nothing calls": (
        EXISTING,
        {"factory": GKE["factory"]},
        "factory: is of aks, eks, gke; existing calls none",
    ),
    "a driver that is none": (
        EXISTING,
        {"driver": "operator"},
        "driver: must be managed or gpu_operator or device_plugin or dra_driver or none, got 'operator'; did you mean gpu_operator?",
    ),
    "an accelerator that is none": (
        EXISTING,
        {"machine_type": None, "accelerator": "nvidia-h10-80gb", "gpus_per_node": 8, "labels": {"a": "b"}},
        ("accelerator: is not in the catalog, got 'nvidia-h10-80gb'; did you mean nvidia-h100-80gb? or "
        "say yourself what a machine has: capacity="),
    ),
    "a machine type that is none": (
        EXISTING,
        {"machine_type": "p5.48xlarg"},
        ("machine_type: is not in the catalog, got 'p5.48xlarg'; did you mean p5.48xlarge or "
        "p5e.48xlarge or p5.4xlarge? or say yourself what a machine has: capacity="),
    ),
    "neither accelerator nor machine type": (
        EXISTING,
        {"machine_type": None, "gpus_per_node": 8, "labels": {"a": "b"}},
        "accelerator: is missing; say accelerator= or machine_type=",
    ),
    "another accelerator than the machine's": (
        EXISTING,
        {"accelerator": "nvidia-h200"},
        "accelerator: is not that of p5.48xlarge, which has nvidia-h100-80gb, got 'nvidia-h200'",
    ),
    "another number of accelerators than the machine's": (
        EXISTING,
        {"gpus_per_node": 4},
        "gpus_per_node: is not that of p5.48xlarge, which has 8, got 4; leave it out",
    ),
    "a number of accelerators that nothing says": (
        EXISTING,
        {"machine_type": None, "accelerator": "nvidia-h100-80gb", "labels": {"a": "b"}},
        "gpus_per_node: is missing, and there is no machine type to take it from",
    ),
    "no accelerators": (
        EXISTING,
        {"machine_type": None, "accelerator": "nvidia-l4", "gpus_per_node": 0, "labels": {"a": "b"}},
        "gpus_per_node: must be at least 1, got 0",
    ),
    "a machine of another cloud": (
        KARPENTER,
        {"machine_type": "a3-megagpu-8g"},
        "machine_type: is a machine of gcp; backend karpenter makes machines of aws, got 'a3-megagpu-8g'",
    ),
    "a capacity that is not a quantity": (
        EXISTING,
        {"capacity": {"memory": "2TB"}},
        "capacity.memory: '2TB' is not a quantity",
    ),
    "a capacity with other accelerators": (
        EXISTING,
        {"capacity": {"nvidia.com/gpu": 4}},
        "capacity.nvidia.com/gpu: is not the 8 that gpus_per_node or the machine type says, got 4",
    ),
    "no most": (EXISTING, {"nodes": {"min": 1}}, "nodes.max: is missing"),
    "less than no machines": (
        EXISTING,
        {"nodes": {"max": -1}},
        "nodes.max: must not be negative, got -1",
    ),
    "a least that is more than the most": (
        EXISTING,
        {"nodes": {"min": 5, "max": 4}},
        "nodes.min: is more than nodes.max, which is 4, got 5",
    ),
    "a fixed number that is more than the most": (
        KARPENTER,
        {"nodes": {"replicas": 5, "max": 4}},
        "nodes.replicas: is more than nodes.max, which is 4, got 5",
    ),
    "a fixed number with a least": (
        KARPENTER,
        {"nodes": {"replicas": 4, "min": 1}},
        "nodes.min: and nodes.replicas exclude one another: a fixed number has no least, got 1",
    ),
    "a least that Karpenter does not keep": (
        KARPENTER,
        {"nodes": {"min": 1, "max": 4}},
        "nodes.min: is not supported by Karpenter, got 1",
    ),
    "a fixed number with a weight": (
        KARPENTER,
        {**STATIC, "karpenter": {"node_class": "gpu", "weight": 5}},
        "karpenter.weight: orders pools that follow demand; this one has a fixed number of machines",
    ),
    "a weight that Karpenter does not take": (
        KARPENTER,
        {"karpenter": {"node_class": "gpu", "weight": 500}},
        "karpenter.weight: must be 1 to 100, got 500",
    ),
    "a grace period that takes machines all the same": (
        KARPENTER,
        {"karpenter": {"node_class": "gpu", "termination_grace_period": "24h"}},
        ("karpenter.termination_grace_period: lets Karpenter take machines from training pods that "
        "forbid it, got '24h'; leave it out, or say do_not_disrupt=False"),
    ),
    "a capacity type that is none": (
        EXISTING,
        {"capacity_type": "ondemand"},
        "capacity_type: must be on-demand or spot or reserved or capacity-block or flex-start, got 'ondemand'; did you mean on-demand?",
    ),
    "a capacity type that a backend cannot buy": (
        KARPENTER,
        {"capacity_type": "flex-start"},
        ("capacity_type: backend karpenter cannot buy this capacity type, got 'flex-start'; use on-demand, "
        "spot, reserved, capacity-block"),
    ),
    "spot machines of a reservation": (
        KARPENTER,
        {"capacity_type": "spot", "reservation": "cr-1"},
        "reservation: applies only to reserved machines, and these are spot, got 'cr-1'",
    ),
    "reserved machines of no reservation": (
        GKE,
        {"capacity_type": "reserved"},
        "reservation: is missing, and machines are reserved",
    ),
    "an end of machines that stay": (
        EXISTING,
        {"max_run_duration": 3600},
        "max_run_duration: applies only to machines that a cloud can reclaim, and these are on-demand, got 3600",
    ),
    "a class of requests that is none": (
        GKE,
        {"provisioning_class": "queued-provisioning.gke"},
        ("provisioning_class: is not a class of ProvisioningRequests, got 'queued-provisioning.gke'; did "
        "you mean queued-provisioning.gke.io?"),
    ),
    "requests to Karpenter": (
        KARPENTER,
        {"provisioning_class": "check-capacity.autoscaling.x-k8s.io"},
        "provisioning_class: is not supported by Karpenter (kubernetes-sigs/kueue#5133)",
    ),
    "requests for machines that are there": (
        EXISTING,
        {"provisioning_class": "check-capacity.autoscaling.x-k8s.io"},
        "provisioning_class: makes machines, and those of backend existing are there",
    ),
    "requests without Kueue": (
        GKE,
        {"provisioning_class": "check-capacity.autoscaling.x-k8s.io", "queueing": False},
        "provisioning_class: is asked for by Kueue, and queueing is False",
    ),
    "queued provisioning with machines that stay": (
        GKE,
        {"provisioning_class": "queued-provisioning.gke.io", "nodes": {"min": 1, "max": 4}},
        "nodes.min: must be 0: GKE makes all machines of a pool with queued provisioning for one job",
    ),
    "queued provisioning of a reservation": (
        GKE,
        {
            "provisioning_class": "queued-provisioning.gke.io",
            "capacity_type": "reserved",
            "reservation": "r",
        },
        "reservation: and queued provisioning exclude one another, got 'r'; leave one out",
    ),
    "queued provisioning close together": (
        GKE,
        {
            "provisioning_class": "queued-provisioning.gke.io",
            "gke": {**GKE["gke"], "placement_policy": "p"},
        },
        "gke.placement_policy: and queued provisioning exclude one another; leave one out",
    ),
    "a label's key that is none": (EXISTING, {"labels": {"a b": "c"}}, "labels[a b]: must be a key such as stage or example.com/stage, got 'a b'"),
    "a label's value that is none": (
        EXISTING,
        {"labels": {"a": "b c"}},
        ("labels.a: must be letters, digits, -, _ and ., and begin and end with a letter or digit, "
        "got 'b c'"),
    ),
    "a label that each machine has of its own": (
        KARPENTER,
        {"labels": {"kubernetes.io/hostname": "x"}},
        "labels.kubernetes.io/hostname: is another of each machine; leave it out",
    ),
    "another pool's label": (
        KARPENTER,
        {"labels": {"trainer-infra.dev/pool": "other"}},
        "labels.trainer-infra.dev/pool: is the name of the pool, got 'other'; leave it out",
    ),
    "a label that Karpenter refuses": (
        KARPENTER,
        {"labels": {"node-role.kubernetes.io/gpu": "yes"}},
        "labels.node-role.kubernetes.io/gpu: is in a domain that Karpenter lets no NodePool set",
    ),
    "nine taints": (
        EXISTING,
        {"taints": [{"key": f"k{each}", "effect": "NoSchedule"} for each in range(9)]},
        "taints: must have at most 8 items, has 9",
    ),
    "a taint's effect that is none": (
        EXISTING,
        {"taints": [{"key": "a", "effect": "Never"}]},
        "taints[0].effect: must be NoSchedule or PreferNoSchedule or NoExecute, got 'Never'",
    ),
    "a taint's key that is none": (
        EXISTING,
        {"taints": [{"key": "", "effect": "NoSchedule"}]},
        "taints[0].key: must be a key such as stage or example.com/stage, got ''",
    ),
    "a taint twice": (
        EXISTING,
        {"taints": [{"key": "a", "value": each, "effect": "NoSchedule"} for each in "bc"]},
        "taints[1]: has the key and the effect of item 0, got 'a:NoSchedule'; remove one of them",
    ),
    "machines that nothing chooses": (
        EXISTING,
        {"machine_type": None, "accelerator": "nvidia-l4", "gpus_per_node": 1},
        ("labels: is missing: nothing says which machines these are; say labels that they have, or "
        "machine_type="),
    ),
    "a level twice": (
        EXISTING,
        {"topology": ["rack", "rack"]},
        "topology[1]: is the same as item 0, got 'rack'; remove one of them",
    ),
    "a node above a rack": (
        EXISTING,
        {"topology": ["kubernetes.io/hostname", "rack"]},
        ("topology[0]: may only be the lowest level, the last of the list, got "
        "'kubernetes.io/hostname'; move it to the end"),
    ),
    "seventeen levels": (
        EXISTING,
        {"topology": [f"level-{each}" for each in range(17)]},
        "topology: must have at most 16 items, has 17",
    ),
    "levels of machines that Kueue never sees": (
        KARPENTER,
        {"topology": ["kubernetes.io/hostname"]},
        ("topology: places jobs on machines that are there, and this pool keeps none: Kueue would admit "
        "nothing to it; say nodes.replicas, provisioning_class=, or topology=[]"),
    ),
    "levels without Kueue": (
        EXISTING,
        {"topology": ["rack"], "queueing": False},
        "topology: is Kueue's, and queueing is False; leave one of the two out",
    ),
    "machines of a domain that is none": (
        EXISTING,
        {"topology": ["rack"], "domain_nodes": {"block": 4}},
        "domain_nodes.block: is not a level of the topology; write it there",
    ),
    "no machines of a domain": (
        EXISTING,
        {"topology": ["rack"], "domain_nodes": {"rack": 0}},
        "domain_nodes.rack: must be a whole number, 1 or more, got 0",
    ),
    "a fabric that is none": (
        EXISTING,
        {"fabric": "tcpxoo"},
        "fabric: must be efa or gke_rdma or infiniband or roce or tcpx or tcpxo or a mapping with preset, got 'tcpxoo'; did you mean tcpxo?",
    ),
    "a fabric of another cloud": (
        KARPENTER,
        {"fabric": "tcpxo"},
        "fabric: is a fabric of gcp, and the machines belong to aws, got 'tcpxo'",
    ),
    "a fabric of other machines": (
        EXISTING,
        {"machine_type": "a3-megagpu-8g", "fabric": "tcpx"},
        "fabric: is not available on a3-megagpu-8g: it has tcpxo, got 'tcpx'",
    ),
    "EFA on a machine without it": (
        EXISTING,
        {"machine_type": "g5.xlarge", "fabric": "efa"},
        "fabric: is not available on g5.xlarge: it has plain TCP only, got 'efa'",
    ),
    "more interfaces than the machine has": (
        KARPENTER,
        {"fabric": {"preset": "efa", "interfaces": 64}},
        "fabric.interfaces: is more than the 32 EFA interfaces that a machine has, got 64",
    ),
    "interfaces that nothing says": (
        EXISTING,
        {"machine_type": None, "accelerator": "nvidia-l4", "gpus_per_node": 1, "labels": {"a": "b"},
         "fabric": "efa"},
        "fabric.interfaces: is missing, and there is no machine type to take it from",
    ),
    "no interfaces": (
        KARPENTER,
        {"fabric": {"preset": "efa", "interfaces": 0}},
        "fabric.interfaces: must be at least 1, got 0",
    ),
    "EFA in two zones": (
        KARPENTER,
        {"fabric": "efa", "zones": ["a", "b"]},
        "zones: is more than one zone, and EFA reaches no other, got ['a', 'b']; write one zone",
    ),
    "networks that are not the machine's": (
        EXISTING,
        {"machine_type": "a3-megagpu-8g", "fabric": {"preset": "tcpxo", "networks": ["vpc1"]}},
        "fabric.networks: must be 8, one for each interface, got 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(mistake: str) -> None:
    base, change, sentence = MISTAKES[mistake]
    (line,) = pool_refusal("gpus", base, change)
    assert line.startswith(f"GpuNodePool gpus: {sentence}")


@pytest.mark.parametrize("name", ["GPUs", "-gpus", "gpus.large", "g" * 64])
def test_a_name_that_cannot_be_a_label_is_refused(name: str) -> None:
    (line,) = pool_refusal(name, EXISTING, {})
    assert "its name must be 1 to 63 of a-z, 0-9 and -" in line


def test_all_mistakes_are_said_at_once() -> None:
    lines = pool_refusal(
        "gpus",
        KARPENTER,
        {
            "machine_type": "p5.48xlarge",
            "gpus_per_node": 4,
            "nodes": {"min": 2, "max": 1},
            "capacity_type": "spot",
            "reservation": "cr-1",
            "fabric": "infiniband",
        },
    )
    assert [line.removeprefix("GpuNodePool gpus: ").partition(":")[0] for line in lines] == [
        "gpus_per_node",
        "nodes.min",
        "nodes.min",
        "reservation",
        "fabric",
    ]


def test_machines_that_the_catalog_does_not_know_are_declared_with_their_capacity() -> None:
    capacity: dict[str, str | int] = {"nvidia.com/gpu": 72, "cpu": 144, "memory": "900Gi"}
    declared_resources(
        lambda: platform.GpuNodePool(
            "gb200",
            backend="existing",
            accelerator="nvidia-gb200",
            machine_type="p6e-gb200.36xlarge",
            gpus_per_node=72,
            capacity=capacity,
            nodes={"max": 2},
        )
    )
