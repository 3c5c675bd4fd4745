"""Backend `gke`: a pool as the keyword arguments of `pulumi_gcp.container.NodePool`.

The package is the program's dependency, not ours: the program's `factory` makes the resource. What GKE
says to such arguments was not seen here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Required, TypedDict

import pulumi

from trainer_infra import names
from trainer_infra.json_values import JSONDict
from trainer_infra.platform.pools.declaration import GKE_ACCELERATOR
from trainer_infra.platform.pools.pool_arguments import GkeArgs
from trainer_infra.platform.pools.pool_spec import QUEUED
from trainer_infra.rules.node_pool import PoolSpec

NO_PLUGIN: Final = "gke-no-default-nvidia-gpu-device-plugin"
"""Label of machines on which GKE runs no device plugin of its own."""
_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
_DISK: Final = 200


class GkeNodePool(TypedDict, total=False):
    """Keyword arguments of `pulumi_gcp.container.NodePool`; nested ones are as its dictionaries."""

    name: Required[str]
    cluster: Required[pulumi.Input[str]]
    location: Required[pulumi.Input[str]]
    node_locations: Sequence[str]
    node_count: int
    """Machines of each zone, of a pool with a fixed number."""
    initial_node_count: int
    autoscaling: Any
    management: Required[Any]
    network_config: Any
    node_config: Required[Any]
    placement_policy: Any
    queued_provisioning: Any
    opts: pulumi.ResourceOptions


def gke_node_pool(spec: PoolSpec, block: GkeArgs) -> GkeNodePool:
    """The arguments of a node pool."""
    queued = spec.provisioning_class == QUEUED
    made: GkeNodePool = {
        "name": spec.name,
        "cluster": block["cluster"],
        "location": block["location"],
        "management": {"auto_repair": not queued, "auto_upgrade": True},
        "node_config": _node_config(spec, block),
    }
    if spec.zones:
        made["node_locations"] = list(spec.zones)
    if spec.is_static:
        made["node_count"] = spec.max_nodes
    else:
        made["initial_node_count"] = -(-spec.min_nodes // (len(spec.zones) or 1))
        made["autoscaling"] = {
            "total_min_node_count": spec.min_nodes,
            "total_max_node_count": spec.max_nodes,
            "location_policy": "ANY",
        }
    if "networks" in block:
        networks = [dict(each) for each in block["networks"]]
        made["network_config"] = {"additional_node_network_configs": networks}
    if "placement_policy" in block:
        policy = {"type": "COMPACT", "policy_name": block["placement_policy"]}
        made["placement_policy"] = policy
    if queued:
        made["queued_provisioning"] = {"enabled": True}
    return made


def _node_config(spec: PoolSpec, block: GkeArgs) -> JSONDict:
    version = "DEFAULT" if spec.driver == "managed" else "INSTALLATION_DISABLED"
    config: JSONDict = {
        "machine_type": spec.machine_type,
        "guest_accelerators": [
            {
                "type": spec.node_labels.get(GKE_ACCELERATOR, spec.accelerator),
                "count": spec.gpus_per_node,
                "gpu_driver_installation_config": {"gpu_driver_version": version},
            }
        ],
        "labels": _labels(spec),
        "taints": cloud_taints(spec),
        "disk_size_gb": block.get("disk_gib", _DISK),
        "gvnic": {"enabled": True},
        "oauth_scopes": list(_SCOPES),
        "workload_metadata_config": {"mode": "GKE_METADATA"},
    }
    if "service_account" in block:
        config["service_account"] = block["service_account"]
    if spec.capacity_type == "spot":
        config["spot"] = True
    if spec.capacity_type == "flex-start":
        config["flex_start"] = True
    if spec.max_run_duration is not None:
        config["max_run_duration"] = f"{spec.max_run_duration}s"
    if (reservation := _reservation(spec)) is not None:
        config["reservation_affinity"] = reservation
    return config


def _labels(spec: PoolSpec) -> Mapping[str, str]:
    own = {**spec.own_labels, names.POOL_LABEL: spec.name}
    return {**own, NO_PLUGIN: "true"} if spec.driver != "managed" else own


def _reservation(spec: PoolSpec) -> JSONDict | None:
    if spec.reservation is not None:
        return {
            "consume_reservation_type": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [spec.reservation],
        }
    # Machines for one job, and those that a cloud takes back, are of no reservation.
    none = spec.provisioning_class == QUEUED or spec.capacity_type == "flex-start"
    return {"consume_reservation_type": "NO_RESERVATION"} if none else None


def cloud_taints(spec: PoolSpec) -> list[JSONDict]:
    """Taints as the APIs of GKE and EKS write them."""
    effects = {
        "NoSchedule": "NO_SCHEDULE",
        "PreferNoSchedule": "PREFER_NO_SCHEDULE",
        "NoExecute": "NO_EXECUTE",
    }
    return [
        {"key": each["key"], "value": each.get("value", ""), "effect": effects[each["effect"]]}
        for each in spec.taints
    ]
