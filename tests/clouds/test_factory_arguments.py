"""Every argument that a pool gives a factory is one that the cloud's SDK knows."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.clouds.known_fields import unknown_fields
from tests.platform.declared_resources import declared_resources
from trainer_infra import platform

NETWORKS = [{"network": f"vpc{each}", "subnetwork": f"sub{each}"} for each in range(8)]
GKE: Mapping[str, Any] = {
    "backend": "gke",
    "machine_type": "a3-megagpu-8g",
    "nodes": {"min": 1, "max": 4},
    "fabric": "tcpxo",
    "zones": ["a"],
    "gke": {
        "cluster": "c",
        "location": "l",
        "service_account": "s",
        "placement_policy": "p",
        "networks": NETWORKS,
    },
}
SMALL_GKE: Mapping[str, Any] = {
    **GKE,
    "machine_type": "g2-standard-4",
    "fabric": None,
    "gke": {"cluster": "c", "location": "l"},
}
EKS: Mapping[str, Any] = {
    "backend": "eks",
    "machine_type": "p5.48xlarge",
    "nodes": {"max": 4},
    "fabric": "efa",
    "eks": {"cluster": "c", "role": "r", "subnets": ["s"], "security_groups": ["g"]},
}
AKS: Mapping[str, Any] = {
    "backend": "aks",
    "machine_type": "Standard_ND96isr_H100_v5",
    "nodes": {"max": 4},
    "zones": ["1"],
    "aks": {"cluster": "c", "resource_group": "g", "subnet": "s"},
}
POOLS: Mapping[str, Mapping[str, Any]] = {
    "gke": GKE,
    "gke reserved": {**GKE, "capacity_type": "reserved", "reservation": "r"},
    "gke queued": {
        **SMALL_GKE,
        "nodes": {"max": 4},
        "provisioning_class": "queued-provisioning.gke.io",
        "max_run_duration": 60,
    },
    "gke flex-start": {**SMALL_GKE, "capacity_type": "flex-start", "max_run_duration": 60},
    "gke spot and static": {**SMALL_GKE, "capacity_type": "spot", "nodes": {"replicas": 2}},
    "eks": {**EKS, "eks": {**EKS["eks"], "placement_group": "p"}},
    "eks block": {**EKS, "capacity_type": "capacity-block", "reservation": "cr-1"},
    "eks spot": {**EKS, "fabric": None, "capacity_type": "spot"},
    "aks": AKS,
    "aks spot": {**AKS, "capacity_type": "spot"},
    "aks reserved": {
        **AKS,
        "capacity_type": "reserved",
        "nodes": {"replicas": 2},
        "aks": {**AKS["aks"], "capacity_reservation_group": "id"},
    },
}


def arguments_of(pool: Mapping[str, Any]) -> dict[str, Any]:
    seen: list[Any] = []

    def factory(_spec: object, arguments: Any) -> list[Any]:
        seen.append(arguments)
        return []

    args = {key: each for key, each in pool.items() if each is not None}
    declared_resources(lambda: platform.GpuNodePool("gpus", factory=factory, **args))
    (made,) = seen
    return dict(made)


def without_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in arguments.items() if key != "opts"}


@pytest.mark.parametrize("name", POOLS)
def test_the_sdk_knows_every_argument(name: str) -> None:
    made, cloud = arguments_of(POOLS[name]), name.split(maxsplit=1)[0]
    if cloud == "gke":
        assert unknown_fields("pulumi_gcp.container", "NodePool", without_options(made)) == []
    elif cloud == "eks":
        template, group = map(without_options, (made["launch_template"], made["node_group"]))
        assert unknown_fields("pulumi_aws.ec2", "LaunchTemplate", template) == []
        assert unknown_fields("pulumi_aws.eks", "NodeGroup", group) == []
    else:
        module = "pulumi_azure_native.containerservice"
        # The constructor's own first argument has that name.
        made["resource_name"] = made.pop("resource_name_")
        assert unknown_fields(module, "AgentPool", without_options(made)) == []


def test_an_argument_that_is_none_is_found() -> None:
    arguments = {
        "cluster": "c",
        "size": 3,
        "node_config": {"machine_tpe": "x", "guest_accelerators": [{"type": "t", "cont": 1}]},
    }
    assert unknown_fields("pulumi_gcp.container", "NodePool", arguments) == [
        "size",
        "node_config.machine_tpe",
        "node_config.guest_accelerators.cont",
    ]
