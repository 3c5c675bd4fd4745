"""Backend `karpenter`: a NodePool whose machines are not taken from under a training job.

Karpenter's own defaults move pods to fewer machines, and renew each machine after 30 days. Here a machine
goes when it is empty, and for no other reason unless the program says so. Fields: Karpenter 1.8
(karpenter.sh/v1). A node class is another object, of the cloud; the pool refers to it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.pools.declaration import KARPENTER_GPU, Declaration, karpenter_gpu
from trainer_infra.platform.pools.pool_spec import INSTANCE_TYPE
from trainer_infra.rules.node_pool import PoolSpec

_ZONE: Final = "topology.kubernetes.io/zone"
_CAPACITY: Final = "karpenter.sh/capacity-type"
_GPUS: Final = "karpenter.k8s.aws/instance-gpu-count"
_RESERVATION: Final = "karpenter.k8s.aws/capacity-reservation-id"
_RESERVATION_KIND: Final = "karpenter.k8s.aws/capacity-reservation-type"


def karpenter_objects(declared: Declaration, spec: PoolSpec) -> tuple[JSONObject, ...]:
    """The NodePool."""
    block = declared.block("karpenter")
    template: JSONDict = {
        "nodeClassRef": {
            "group": block.get("node_class_group", "karpenter.k8s.aws"),
            "kind": block.get("node_class_kind", "EC2NodeClass"),
            "name": block["node_class"],
        },
        "requirements": [*_requirements(declared), *map(dict, block.get("requirements", ()))],
        "expireAfter": "Never",
        "taints": [dict(each) for each in spec.taints],
    }
    if "termination_grace_period" in block:
        template["terminationGracePeriod"] = block["termination_grace_period"]
    labels = {**declared.args.get("labels", {}), names.POOL_LABEL: spec.name}
    pool: JSONDict = {
        "template": {"metadata": {"labels": labels}, "spec": template},
        "disruption": _disruption(block),
        **_size(declared, spec, block),
    }
    made = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "spec": pool}
    return ({**made, "metadata": {"name": spec.name}},)


def _disruption(block: Mapping[str, Any]) -> JSONDict:
    return {
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": block.get("consolidate_after", "10m"),
        "budgets": [
            {"nodes": "100%", "reasons": ["Empty"]},
            {"nodes": block.get("drifted_nodes", "0"), "reasons": ["Drifted"]},
            {"nodes": "0", "reasons": ["Underutilized"]},
        ],
    }


def _size(declared: Declaration, spec: PoolSpec, block: Mapping[str, Any]) -> JSONDict:
    if declared.is_static:
        return {"replicas": declared.nodes["replicas"], "limits": {"nodes": str(spec.max_nodes)}}
    limits = {"limits": {spec.resource: str(spec.max_nodes * spec.gpus_per_node)}}
    return {**limits, "weight": block["weight"]} if "weight" in block else limits


def _requirements(declared: Declaration) -> Iterator[JSONDict]:
    if "machine_type" in declared.args:
        yield _among(INSTANCE_TYPE, declared.args["machine_type"])
    elif declared.machines:
        yield _among(INSTANCE_TYPE, *(each.name for each in declared.machines))
    elif (gpu := karpenter_gpu(declared)) is not None:
        yield _among(KARPENTER_GPU, gpu)
        yield _among(_GPUS, str(declared.gpus))
    reserved = declared.capacity_type in {"reserved", "capacity-block"}
    yield _among(_CAPACITY, "reserved" if reserved else declared.capacity_type)
    if declared.capacity_type == "capacity-block":
        yield _among(_RESERVATION_KIND, "capacity-block")
    if "reservation" in declared.args:
        yield _among(_RESERVATION, declared.args["reservation"])
    if "zones" in declared.args:
        yield _among(_ZONE, *declared.args["zones"])


def _among(key: str, *values: str) -> JSONDict:
    return {"key": key, "operator": "In", "values": list(values)}
