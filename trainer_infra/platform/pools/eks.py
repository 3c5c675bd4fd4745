"""Backend `eks`: a pool as the keyword arguments of `pulumi_aws.ec2.LaunchTemplate` and `eks.NodeGroup`.

The package is the program's dependency, not ours: the program's `factory` makes the resources. With EFA
the launch template has every interface of the machine: pods get none that a machine started without. What
AWS says to such arguments was not seen here.
"""

from collections.abc import Sequence
from typing import Any, Final, Required, TypedDict

import pulumi

from trainer_infra import names
from trainer_infra.json_values import JSONDict
from trainer_infra.platform.pools.gke import cloud_taints
from trainer_infra.platform.pools.pool_arguments import EksArgs
from trainer_infra.rules.node_pool import PoolSpec

_CAPACITY: Final = {"spot": "SPOT", "capacity-block": "CAPACITY_BLOCK"}
_DISK: Final = 200
_DEVICE: Final = "/dev/xvda"
"""The root disk of Amazon Linux 2023."""


class EksLaunchTemplate(TypedDict, total=False):
    """Keyword arguments of `pulumi_aws.ec2.LaunchTemplate`; nested ones are as its dictionaries."""

    name_prefix: Required[str]
    block_device_mappings: Required[Any]
    capacity_reservation_specification: Any
    instance_market_options: Any
    instance_type: str
    metadata_options: Required[Any]
    network_interfaces: Any
    placement: Any
    update_default_version: bool
    vpc_security_group_ids: Sequence[pulumi.Input[str]]
    opts: pulumi.ResourceOptions


class EksNodeGroup(TypedDict, total=False):
    """Keyword arguments of `pulumi_aws.eks.NodeGroup`, without its launch template."""

    ami_type: Required[str]
    capacity_type: Required[str]
    cluster_name: Required[pulumi.Input[str]]
    labels: Required[dict[str, pulumi.Input[str]]]
    node_group_name: Required[str]
    node_role_arn: Required[pulumi.Input[str]]
    scaling_config: Required[Any]
    subnet_ids: Required[Sequence[pulumi.Input[str]]]
    taints: Required[Any]
    update_config: Required[Any]
    opts: pulumi.ResourceOptions


class EksPool(TypedDict):
    """What a factory makes: the template, and the group that starts machines of it."""

    launch_template: EksLaunchTemplate
    node_group: EksNodeGroup


def eks_pool(spec: PoolSpec, block: EksArgs) -> EksPool:
    """The arguments of a launch template and its node group."""
    return {"launch_template": _template(spec, block), "node_group": _group(spec, block)}


def _group(spec: PoolSpec, block: EksArgs) -> EksNodeGroup:
    return {
        "node_group_name": spec.name,
        "cluster_name": block["cluster"],
        "node_role_arn": block["role"],
        "subnet_ids": list(block["subnets"]),
        "ami_type": block.get("ami_type", "AL2023_x86_64_NVIDIA"),
        "capacity_type": _CAPACITY.get(spec.capacity_type, "ON_DEMAND"),
        "labels": {**spec.own_labels, names.POOL_LABEL: spec.name},
        "taints": cloud_taints(spec),
        "scaling_config": {
            "min_size": spec.min_nodes,
            "max_size": spec.max_nodes,
            "desired_size": spec.min_nodes,
        },
        "update_config": {"max_unavailable": 1},
    }


def _template(spec: PoolSpec, block: EksArgs) -> EksLaunchTemplate:
    disk = {"volume_size": block.get("disk_gib", _DISK), "volume_type": "gp3"}
    made: EksLaunchTemplate = {
        "name_prefix": f"{spec.name}-",
        "update_default_version": True,
        "block_device_mappings": [{"device_name": _DEVICE, "ebs": disk}],
        # Two hops: a pod's request for its role's credentials passes the node.
        "metadata_options": {"http_tokens": "required", "http_put_response_hop_limit": 2},
    }
    if spec.machine_type is not None:
        made["instance_type"] = spec.machine_type
    groups = list(block.get("security_groups", ()))
    if "network_interfaces" in block:
        made["network_interfaces"] = [dict(each) for each in block["network_interfaces"]]
    elif spec.fabric is not None and spec.fabric.name == "efa":
        made["network_interfaces"] = _efa_interfaces(spec.fabric.interfaces, groups)
    elif groups:
        made["vpc_security_group_ids"] = groups
    if "placement_group" in block:
        made["placement"] = {"group_name": block["placement_group"]}
    if spec.capacity_type == "capacity-block":
        made["instance_market_options"] = {"market_type": "capacity-block"}
    if spec.reservation is not None:
        target = {"capacity_reservation_id": spec.reservation}
        made["capacity_reservation_specification"] = {"capacity_reservation_target": target}
    return made


def _efa_interfaces(count: int, security_groups: Sequence[pulumi.Input[str]]) -> list[JSONDict]:
    """An EFA interface for each of so many network cards, the first of which has an address."""
    return [
        {
            "network_card_index": card,
            "device_index": 0 if card == 0 else 1,
            "interface_type": "efa" if card == 0 else "efa-only",
            "delete_on_termination": "true",
            "security_groups": list(security_groups),
        }
        for card in range(count)
    ]
