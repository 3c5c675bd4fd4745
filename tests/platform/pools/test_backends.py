"""What each backend makes of a pool, as whole values."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_kubernetes

from tests.platform.declared_resources import declared_objects, declared_resources
from trainer_infra import platform
from trainer_infra.json_values import JSONObject

TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}


def objects_of(name: str, **args: Any) -> Mapping[str, JSONObject]:
    return declared_objects(lambda: platform.GpuNodePool(name, **args))


def factory_arguments(name: str, **args: Any) -> Any:
    """What the program's factory gets."""
    seen: list[Any] = []

    def factory(_pool: object, arguments: Any) -> list[pulumi.Resource]:
        seen.append(arguments)
        return []

    declared_resources(lambda: platform.GpuNodePool(name, factory=factory, **args))
    return seen[0]


def test_a_compute_class_moves_no_pod_of_its_own_accord() -> None:
    made = objects_of(
        "mega",
        backend="gke_compute_class",
        machine_type="a3-megagpu-8g",
        nodes={"max": 4},
        capacity_type="reserved",
        reservation="training",
        zones=["europe-west4-b"],
        labels={"team": "vision"},
        gke_compute_class={
            "reservation_project": "shared",
            "reservation_block": "b1",
            "placement_policy": "dense",
        },
    )
    assert made["ComputeClass/mega"] == {
        "apiVersion": "cloud.google.com/v1",
        "kind": "ComputeClass",
        "metadata": {"name": "mega"},
        "spec": {
            "priorities": [
                {
                    "gpu": {
                        "type": "nvidia-h100-mega-80gb",
                        "count": 8,
                        "driverVersion": "default",
                    },
                    "spot": False,
                    "machineType": "a3-megagpu-8g",
                    "reservations": {
                        "affinity": "Specific",
                        "specific": [
                            {
                                "name": "training",
                                "project": "shared",
                                "reservationBlock": {"name": "b1"},
                            }
                        ],
                    },
                    "placement": {"policyName": "dense"},
                    "location": {"zones": ["europe-west4-b"]},
                }
            ],
            "nodePoolAutoCreation": {"enabled": True},
            "nodePoolConfig": {"nodeLabels": {"team": "vision", "trainer-infra.dev/pool": "mega"}},
            "activeMigration": {"optimizeRulePriority": False},
            "autoscalingPolicy": {
                "consolidationDelayMinutes": 10,
                "consolidationThreshold": 0,
                "gpuConsolidationThreshold": 0,
            },
            "whenUnsatisfiable": "DoNotScaleUp",
        },
    }
    assert made["ResourceFlavor/mega"]["spec"] == {
        "nodeLabels": {"cloud.google.com/compute-class": "mega"},
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {
                "key": "cloud.google.com/compute-class",
                "operator": "Equal",
                "value": "mega",
                "effect": "NoSchedule",
            },
        ],
    }


def test_a_compute_class_buys_machines_for_a_time() -> None:
    made = objects_of(
        "l4",
        backend="gke_compute_class",
        accelerator="nvidia-l4",
        gpus_per_node=1,
        nodes={"max": 4},
        capacity_type="flex-start",
        max_run_duration=7200,
        driver="gpu_operator",
        gke_compute_class={"recycling_lead_time": 600, "when_unsatisfiable": "ScaleUpAnyway"},
    )
    spec = made["ComputeClass/l4"]["spec"]
    assert spec["whenUnsatisfiable"] == "ScaleUpAnyway"
    assert spec["priorities"] == [
        {
            "gpu": {"type": "nvidia-l4", "count": 1, "driverVersion": "disabled"},
            "spot": False,
            "flexStart": {"enabled": True, "nodeRecycling": {"leadTimeSeconds": 600}},
            "maxRunDurationSeconds": 7200,
        }
    ]


INFRASTRUCTURE = {
    "apiGroup": "infrastructure.cluster.x-k8s.io",
    "kind": "AWSMachineTemplate",
    "name": "gpu",
}
BOOTSTRAP = {
    "apiGroup": "bootstrap.cluster.x-k8s.io",
    "kind": "KubeadmConfigTemplate",
    "name": "gpu",
}
BLOCK = {
    "cluster": "prod",
    "namespace": "clusters",
    "version": "v1.34.4",
    "infrastructure": INFRASTRUCTURE,
    "bootstrap": BOOTSTRAP,
}


def test_cluster_api_says_what_a_machine_has_before_there_is_one() -> None:
    made = objects_of(
        "h100",
        backend="cluster_api",
        machine_type="p5.48xlarge",
        nodes={"max": 16},
        zones=["us-east-2a"],
        taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        cluster_api=BLOCK,
    )
    assert made["MachineDeployment/clusters/h100"] == {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {
            "name": "h100",
            "namespace": "clusters",
            "labels": {"cluster.x-k8s.io/cluster-name": "prod"},
            "annotations": {
                "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "0",
                "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "16",
                "capacity.cluster-autoscaler.kubernetes.io/cpu": "191450m",
                "capacity.cluster-autoscaler.kubernetes.io/memory": "2048186Mi",
                "capacity.cluster-autoscaler.kubernetes.io/gpu-type": "nvidia.com/gpu",
                "capacity.cluster-autoscaler.kubernetes.io/gpu-count": "8",
                "capacity.cluster-autoscaler.kubernetes.io/labels": (
                    "node.cluster.x-k8s.io/trainer-infra-pool=h100"
                ),
                "capacity.cluster-autoscaler.kubernetes.io/taints": (
                    "nvidia.com/gpu=present:NoSchedule"
                ),
            },
        },
        "spec": {
            "clusterName": "prod",
            "selector": {"matchLabels": {"node.cluster.x-k8s.io/trainer-infra-pool": "h100"}},
            "rollout": {"strategy": {"type": "OnDelete"}},
            "template": {
                "metadata": {
                    "labels": {
                        "node.cluster.x-k8s.io/trainer-infra-pool": "h100",
                        "cluster.x-k8s.io/cluster-name": "prod",
                    }
                },
                "spec": {
                    "clusterName": "prod",
                    "version": "v1.34.4",
                    "bootstrap": {"configRef": BOOTSTRAP},
                    "infrastructureRef": INFRASTRUCTURE,
                    "failureDomain": "us-east-2a",
                },
            },
        },
    }
    assert made["ResourceFlavor/h100"]["spec"]["nodeLabels"] == {
        "node.cluster.x-k8s.io/trainer-infra-pool": "h100"
    }


def test_a_machine_pool_of_a_fixed_size_is_left_alone_by_the_autoscaler() -> None:
    made = objects_of(
        "h100",
        backend="cluster_api",
        machine_type="p5.48xlarge",
        nodes={"replicas": 4},
        zones=["a", "b"],
        cluster_api={**BLOCK, "kind": "MachinePool"},
    )["MachinePool/clusters/h100"]
    assert "annotations" not in made["metadata"]
    assert made["spec"]["replicas"] == 4
    assert made["spec"]["failureDomains"] == ["a", "b"]
    assert not made["spec"].keys() & {"selector", "rollout"}


def test_the_machines_of_cluster_api_are_the_management_clusters() -> None:
    def program() -> None:
        management = pulumi_kubernetes.Provider("management", kubeconfig="management")
        platform.GpuNodePool(
            "h100",
            backend="cluster_api",
            machine_type="p5.48xlarge",
            nodes={"max": 1},
            cluster_api={**BLOCK, "management": management},  # type: ignore[typeddict-item]
        )

    made = declared_resources(program)
    providers = {each.kind.rpartition(":")[2]: each.provider for each in made}
    assert "::management::" in providers["MachineDeployment"]
    assert providers["ResourceFlavor"] == ""


def test_gke_gets_a_node_pool() -> None:
    networks = [{"network": f"vpc{each}", "subnetwork": f"sub{each}"} for each in range(1, 9)]
    made = factory_arguments(
        "mega",
        backend="gke",
        machine_type="a3-megagpu-8g",
        nodes={"min": 1, "max": 16},
        capacity_type="reserved",
        reservation="training",
        zones=["europe-west4-b", "europe-west4-c"],
        labels={"team": "vision"},
        fabric="tcpxo",
        gke={
            "cluster": "prod",
            "location": "europe-west4",
            "networks": networks,
            "placement_policy": "dense",
            "service_account": "nodes@example",
        },
    )
    opts = made.pop("opts")
    assert made == {
        "name": "mega",
        "cluster": "prod",
        "location": "europe-west4",
        "node_locations": ["europe-west4-b", "europe-west4-c"],
        "initial_node_count": 1,
        "autoscaling": {
            "total_min_node_count": 1,
            "total_max_node_count": 16,
            "location_policy": "ANY",
        },
        "management": {"auto_repair": True, "auto_upgrade": True},
        "network_config": {"additional_node_network_configs": networks},
        "placement_policy": {"type": "COMPACT", "policy_name": "dense"},
        "node_config": {
            "machine_type": "a3-megagpu-8g",
            "guest_accelerators": [
                {
                    "type": "nvidia-h100-mega-80gb",
                    "count": 8,
                    "gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"},
                }
            ],
            "labels": {"team": "vision", "trainer-infra.dev/pool": "mega"},
            "taints": [TAINT],
            "disk_size_gb": 200,
            "gvnic": {"enabled": True},
            "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "workload_metadata_config": {"mode": "GKE_METADATA"},
            "service_account": "nodes@example",
            "reservation_affinity": {
                "consume_reservation_type": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": ["training"],
            },
        },
    }
    assert opts.ignore_changes == ["initialNodeCount", "nodeCount"]
    assert opts.parent is not None


def test_gke_makes_the_machines_of_a_job_together() -> None:
    made = factory_arguments(
        "dws",
        backend="gke",
        machine_type="a3-highgpu-8g",
        nodes={"max": 8},
        provisioning_class="queued-provisioning.gke.io",
        max_run_duration=3600,
        driver="gpu_operator",
        gke={"cluster": "prod", "location": "europe-west4"},
    )
    assert made["queued_provisioning"] == {"enabled": True}
    assert made["management"] == {"auto_repair": False, "auto_upgrade": True}
    assert made["autoscaling"]["total_min_node_count"] == 0
    config = made["node_config"]
    assert config["max_run_duration"] == "3600s"
    assert config["reservation_affinity"] == {"consume_reservation_type": "NO_RESERVATION"}
    assert config["labels"]["gke-no-default-nvidia-gpu-device-plugin"] == "true"
    (gpus,) = config["guest_accelerators"]
    assert gpus["gpu_driver_installation_config"] == {"gpu_driver_version": "INSTALLATION_DISABLED"}


def test_kueue_asks_gke_for_the_machines_of_a_job() -> None:
    def program() -> None:
        pool = platform.GpuNodePool(
            "dws",
            backend="gke",
            machine_type="a3-highgpu-8g",
            nodes={"max": 8},
            provisioning_class="queued-provisioning.gke.io",
            max_run_duration=3600,
            gke={"cluster": "prod", "location": "europe-west4"},
            factory=lambda _pool, _args: [],
        )
        assert pool.admission is not None
        assert pool.flavor is not None
        platform.ClusterQueue(
            "team",
            quota=platform.pool_quota(pool),
            admission_checks=[{"check": pool.admission, "on_flavors": [pool.flavor]}],
        )

    made = declared_objects(program)
    assert made["ProvisioningRequestConfig/dws"]["spec"] == {
        "provisioningClassName": "queued-provisioning.gke.io",
        "managedResources": ["nvidia.com/gpu"],
        "parameters": {"maxRunDurationSeconds": "3600"},
        "podSetUpdates": {
            "nodeSelector": [
                {
                    "key": "autoscaling.gke.io/provisioning-request",
                    "valueFromProvisioningClassDetail": "ResizeRequestName",
                }
            ]
        },
    }
    assert made["ClusterQueue/team"]["spec"]["admissionChecksStrategy"] == {
        "admissionChecks": [{"name": "dws", "onFlavors": ["dws"]}]
    }
    assert {
        "key": "cloud.google.com/gke-queued",
        "operator": "Equal",
        "value": "true",
        "effect": "NoSchedule",
    } in made["ResourceFlavor/dws"]["spec"]["tolerations"]


def test_gke_keeps_a_fixed_number_in_one_zone() -> None:
    made = factory_arguments(
        "spot",
        backend="gke",
        machine_type="g2-standard-48",
        nodes={"replicas": 3},
        zones=["europe-west4-b"],
        capacity_type="spot",
        gke={"cluster": "prod", "location": "europe-west4"},
    )
    assert made["node_count"] == 3
    assert not made.keys() & {"autoscaling", "initial_node_count"}
    assert made["node_config"]["spot"] is True
    assert made["opts"].ignore_changes == []


def test_eks_gets_every_interface_in_a_launch_template() -> None:
    made = factory_arguments(
        "blocks",
        backend="eks",
        machine_type="p4d.24xlarge",
        nodes={"min": 2, "max": 4},
        capacity_type="capacity-block",
        reservation="cr-1",
        fabric="efa",
        labels={"team": "vision"},
        eks={"cluster": "prod", "role": "arn", "subnets": ["sub"], "security_groups": ["sg"]},
    )
    template, group = made["launch_template"], made["node_group"]
    assert template.pop("opts").parent is not None
    assert group.pop("opts").ignore_changes == ["scalingConfig.desiredSize"]
    assert template == {
        "name_prefix": "blocks-",
        "update_default_version": True,
        "instance_type": "p4d.24xlarge",
        "block_device_mappings": [
            {"device_name": "/dev/xvda", "ebs": {"volume_size": 200, "volume_type": "gp3"}}
        ],
        "metadata_options": {"http_tokens": "required", "http_put_response_hop_limit": 2},
        "network_interfaces": [
            {
                "network_card_index": card,
                "device_index": min(card, 1),
                "interface_type": kind,
                "delete_on_termination": "true",
                "security_groups": ["sg"],
            }
            for card, kind in enumerate(["efa", "efa-only", "efa-only", "efa-only"])
        ],
        "instance_market_options": {"market_type": "capacity-block"},
        "capacity_reservation_specification": {
            "capacity_reservation_target": {"capacity_reservation_id": "cr-1"}
        },
    }
    assert group == {
        "node_group_name": "blocks",
        "cluster_name": "prod",
        "node_role_arn": "arn",
        "subnet_ids": ["sub"],
        "ami_type": "AL2023_x86_64_NVIDIA",
        "capacity_type": "CAPACITY_BLOCK",
        "labels": {"team": "vision", "trainer-infra.dev/pool": "blocks"},
        "taints": [TAINT],
        "scaling_config": {"min_size": 2, "max_size": 4, "desired_size": 2},
        "update_config": {"max_unavailable": 1},
    }


def test_eks_without_efa_has_groups_and_places_machines_close_together() -> None:
    made = factory_arguments(
        "spot",
        backend="eks",
        machine_type="g5.12xlarge",
        nodes={"max": 4},
        capacity_type="spot",
        eks={
            "cluster": "prod",
            "role": "arn",
            "subnets": ["a", "b"],
            "security_groups": ["sg"],
            "placement_group": "dense",
        },
    )
    assert made["node_group"]["capacity_type"] == "SPOT"
    assert made["launch_template"]["vpc_security_group_ids"] == ["sg"]
    assert made["launch_template"]["placement"] == {"group_name": "dense"}
    assert "network_interfaces" not in made["launch_template"]


def test_aks_gets_an_agent_pool() -> None:
    made = factory_arguments(
        "h100",
        backend="aks",
        machine_type="Standard_ND96isr_H100_v5",
        nodes={"max": 4},
        capacity_type="spot",
        zones=["1"],
        driver="gpu_operator",
        aks={"cluster": "prod", "resource_group": "training", "subnet": "id"},
    )
    assert made.pop("opts").ignore_changes == ["count"]
    assert made == {
        "agent_pool_name": "h100",
        "resource_group_name": "training",
        "resource_name_": "prod",
        "mode": "User",
        "os_type": "Linux",
        "os_sku": "Ubuntu",
        "os_disk_size_gb": 200,
        "vm_size": "Standard_ND96isr_H100_v5",
        "gpu_profile": {"driver": "None"},
        "node_labels": {"trainer-infra.dev/pool": "h100"},
        "node_taints": ["sku=gpu:NoSchedule"],
        "count": 0,
        "enable_auto_scaling": True,
        "min_count": 0,
        "max_count": 4,
        "availability_zones": ["1"],
        "vnet_subnet_id": "id",
        "scale_set_priority": "Spot",
        "scale_set_eviction_policy": "Delete",
        "spot_max_price": -1,
    }


def test_the_flavor_of_spot_machines_of_aks_tolerates_what_aks_adds() -> None:
    made: list[platform.GpuNodePool] = []

    def program() -> None:
        pool = platform.GpuNodePool(
            "h100",
            backend="aks",
            machine_type="Standard_ND96isr_H100_v5",
            nodes={"max": 4},
            capacity_type="spot",
            aks={"cluster": "prod", "resource_group": "training"},
            factory=lambda _pool, _args: [],
        )
        made.append(pool)

    declared_resources(program)
    assert [each["key"] for each in made[0].spec.taints] == [
        "sku",
        "kubernetes.azure.com/scalesetpriority",
    ]
    assert [each["key"] for each in made[0].spec.tolerations] == [
        "sku",
        "kubernetes.azure.com/scalesetpriority",
        "nvidia.com/gpu",
    ]


def test_the_program_gets_back_what_its_factory_made() -> None:
    made: list[platform.GpuNodePool] = []

    class Machines(pulumi.CustomResource):
        def __init__(self, args: Mapping[str, Any]) -> None:
            super().__init__("acme:index:Machines", args["name"], {}, args["opts"])

    def program() -> None:
        made.append(
            platform.GpuNodePool(
                "l4",
                backend="gke",
                machine_type="g2-standard-4",
                nodes={"max": 4},
                gke={"cluster": "prod", "location": "europe-west4"},
                factory=lambda _pool, args: Machines(args),
            )
        )

    component, machines, *_ = sorted(declared_resources(program), key=lambda each: len(each.urn))
    assert [type(each) for each in made[0].machines] == [Machines]
    assert machines.parent == component.urn
