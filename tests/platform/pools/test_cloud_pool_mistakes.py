"""What a cloud's own pools and Cluster API cannot do is a sentence of the preview."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.platform.pools.program import CLUSTERS
from tests.platform.pools.refusal import pool_refusal


def factory(_pool: object, _args: object) -> list[Any]:
    raise AssertionError


NETWORKS = [{"network": f"vpc{each}", "subnetwork": f"sub{each}"} for each in range(8)]
GKE: Mapping[str, Any] = {
    "backend": "gke",
    "gke": CLUSTERS["gke"],
    "machine_type": "a3-megagpu-8g",
    "nodes": {"max": 4},
    "factory": factory,
}
EKS: Mapping[str, Any] = {
    "backend": "eks",
    "eks": CLUSTERS["eks"],
    "machine_type": "p5.48xlarge",
    "fabric": "efa",
    "nodes": {"max": 4},
    "factory": factory,
}
AKS: Mapping[str, Any] = {
    "backend": "aks",
    "aks": CLUSTERS["aks"],
    "machine_type": "Standard_ND96isr_H100_v5",
    "nodes": {"max": 4},
    "factory": factory,
}
CLUSTER_API: Mapping[str, Any] = {
    "backend": "cluster_api",
    "cluster_api": CLUSTERS["cluster_api"],
    "machine_type": "p5.48xlarge",
    "nodes": {"max": 4},
}
MISTAKES: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], str]] = {
    "an accelerator that several machine types have": (
        EKS,
        {"machine_type": None, "accelerator": "nvidia-a10g", "gpus_per_node": 4},
        ("machine_type: is missing: backend eks makes machines of one type; say one of g5.12xlarge, "
        "g5.24xlarge"),
    ),
    "a fixed number in no zone of GKE": (
        GKE,
        {"nodes": {"replicas": 4}},
        "zones: must be one zone: GKE counts nodes.replicas in each zone",
    ),
    "TCPXO without networks": (
        GKE,
        {"fabric": "tcpxo"},
        "gke.networks: must be 8, one for each interface of tcpxo, got 0",
    ),
    "EFA in two subnets": (
        EKS,
        {"eks": {**EKS["eks"], "subnets": ["a", "b"]}},
        "eks.subnets: are more than one, and EFA reaches no other zone, got 2; write one subnet",
    ),
    "EFA without a security group": (
        EKS,
        {"eks": {**EKS["eks"], "security_groups": []}},
        "eks.security_groups: is missing: EFA needs a group",
    ),
    "a machine whose cards are uneven": (
        EKS,
        {"machine_type": "p6-b300.48xlarge"},
        "eks.network_interfaces: is missing: the first card of p6-b300.48xlarge has no EFA",
    ),
    "reserved machines close together": (
        EKS,
        {
            "eks": {**EKS["eks"], "placement_group": "p"},
            "capacity_type": "reserved",
            "reservation": "cr-1",
        },
        "eks.placement_group: and reservation exclude one another: AWS starts part of the machines",
    ),
    "a reservation by name on AKS": (
        AKS,
        {
            "aks": {**AKS["aks"], "capacity_reservation_group": "id"},
            "capacity_type": "reserved",
            "reservation": "r",
        },
        "reservation: is not supported by AKS, got 'r'; say aks.capacity_reservation_group",
    ),
    "reserved machines of no group": (
        AKS,
        {"capacity_type": "reserved"},
        "aks.capacity_reservation_group: and capacity_type='reserved' belong together",
    ),
    "a label of AKS' own": (
        AKS,
        {"labels": {"kubernetes.azure.com/accelerator": "nvidia"}},
        "labels.kubernetes.azure.com/accelerator: is in a domain that AKS lets no one set",
    ),
    "a label that does not reach nodes": (
        CLUSTER_API,
        {"labels": {"team": "vision"}},
        ("labels.team: is a label that Cluster API does not copy to nodes; use a label of "
        "node-role.kubernetes.io or node-restriction.kubernetes.io or node.cluster.x-k8s.io"),
    ),
    "a template without a kind": (
        CLUSTER_API,
        {
            "cluster_api": {
                **CLUSTER_API["cluster_api"],
                "bootstrap": {"apiGroup": "g", "name": "t"},
            }
        },
        "cluster_api.bootstrap.kind: is missing",
    ),
    "a MachineDeployment in two zones": (
        CLUSTER_API,
        {"zones": ["a", "b"]},
        ("zones: are more than one, and a MachineDeployment is in one, got ['a', 'b']; write one zone, "
        "or kind MachinePool"),
    ),
    "queued provisioning of another cloud": (
        EKS,
        {"provisioning_class": "queued-provisioning.gke.io"},
        ("provisioning_class: is a class of GKE, got 'queued-provisioning.gke.io'; use "
        "check-capacity.autoscaling.x-k8s.io or best-effort-atomic-scale-up.autoscaling.x-k8s.io"),
    ),
    "a machine that a ComputeClass keeps": (
        {
            "backend": "gke_compute_class",
            "machine_type": "g2-standard-4",
            "nodes": {"min": 1, "max": 4},
        },
        {},
        "nodes.min: is not supported by a ComputeClass: GKE creates machines for waiting pods, got 1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(mistake: str) -> None:
    base, change, sentence = MISTAKES[mistake]
    (line,) = pool_refusal("gpus", base, change)
    assert line.startswith(f"GpuNodePool gpus: {sentence}")


@pytest.mark.parametrize("name", ["h100-pool", "8gpus", "training00000"])
def test_aks_takes_few_names(name: str) -> None:
    (line,) = pool_refusal(name, AKS, {})
    assert "its name must be 1 to 12 of a-z and 0-9, and begin with a letter" in line
