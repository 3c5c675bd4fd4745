"""Backend `cluster_api`: a MachineDeployment or MachinePool of a management cluster.

Machines are replaced only when they are deleted: a rolling update would take them from under training.
Cluster API copies to a node only labels of its own domains, so the pool's label is one of those. Taints
are what your bootstrap template registers nodes with; `taints=` repeats them. Fields: Cluster API 1.11
(v1beta2); annotations: the cluster autoscaler's provider `clusterapi`.
"""

from collections.abc import Mapping
from typing import Any, Final

from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.pools.declaration import Declaration
from trainer_infra.platform.pools.pool_spec import taint_text
from trainer_infra.rules.node_pool import PoolSpec

NODE_DOMAINS: Final = (
    "node-role.kubernetes.io",
    "node-restriction.kubernetes.io",
    "node.cluster.x-k8s.io",
)
"""Domains whose labels Cluster API copies to nodes."""
_CLUSTER: Final = "cluster.x-k8s.io/cluster-name"
_SIZE: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
_CAPACITY: Final = "capacity.cluster-autoscaler.kubernetes.io"


def cluster_api_objects(declared: Declaration, spec: PoolSpec) -> tuple[JSONObject, ...]:
    """The MachineDeployment or MachinePool."""
    block = declared.block("cluster_api")
    kind = block.get("kind", "MachineDeployment")
    metadata: JSONDict = {
        "name": spec.name,
        "namespace": block.get("namespace", "default"),
        "labels": {_CLUSTER: block["cluster"]},
    }
    fields: JSONDict = {"clusterName": block["cluster"]}
    if declared.is_static:
        fields["replicas"] = declared.nodes["replicas"]
    else:
        metadata["annotations"] = _annotations(declared, spec)
    zones = list(declared.args.get("zones", ()))
    if kind == "MachineDeployment":
        fields |= {
            "selector": {"matchLabels": dict(spec.labels)},
            "rollout": {"strategy": {"type": "OnDelete"}},
        }
    elif zones:
        fields["failureDomains"] = zones
    fields["template"] = _template(declared, spec, block)
    if kind == "MachineDeployment" and zones:
        fields["template"]["spec"]["failureDomain"] = zones[0]
    made = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": metadata}
    return ({**made, "spec": fields},)


def _template(declared: Declaration, spec: PoolSpec, block: Mapping[str, Any]) -> JSONDict:
    labels = {**declared.args.get("labels", {}), **spec.labels, _CLUSTER: block["cluster"]}
    machine = {
        "clusterName": block["cluster"],
        "version": block["version"],
        "bootstrap": {"configRef": dict(block["bootstrap"])},
        "infrastructureRef": dict(block["infrastructure"]),
    }
    return {"metadata": {"labels": labels}, "spec": machine}


def _annotations(declared: Declaration, spec: PoolSpec) -> Mapping[str, str]:
    """How many machines, and what one has: from that the autoscaler makes the first one."""
    capacity = {key: str(spec.capacity[key]) for key in ("cpu", "memory") if key in spec.capacity}
    labels = {**declared.args.get("labels", {}), **spec.labels}
    made = {
        f"{_SIZE}-min-size": str(spec.min_nodes),
        f"{_SIZE}-max-size": str(spec.max_nodes),
        **{f"{_CAPACITY}/{key}": each for key, each in capacity.items()},
        f"{_CAPACITY}/gpu-type": spec.resource,
        f"{_CAPACITY}/gpu-count": str(spec.gpus_per_node),
        f"{_CAPACITY}/labels": ",".join(f"{key}={each}" for key, each in labels.items()),
    }
    taints = ",".join(map(taint_text, spec.taints))
    return {**made, f"{_CAPACITY}/taints": taints} if taints else made
