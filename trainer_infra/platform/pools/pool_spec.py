"""A declaration that passed its checks -> the PoolSpec that everything else takes, and what Kueue knows of it."""

from collections.abc import Mapping
from typing import Any, Final, cast

from trainer_infra import names
from trainer_infra.api import quantity
from trainer_infra.catalog.fabrics import fabric_of
from trainer_infra.catalog.fabrics.fabric import Fabric
from trainer_infra.catalog.machine_types import room_for_pods
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.pools.declaration import Declaration, accelerator_labels
from trainer_infra.platform.queues.flavors import ResourceFlavorArgs, Topology
from trainer_infra.platform.queues.provisioning_admission import ProvisioningAdmissionArgs
from trainer_infra.rules.node_pool import PoolSpec

QUEUED: Final = "queued-provisioning.gke.io"
"""GKE's class, by which it makes all machines of a job together."""
_REQUEST: Final = "autoscaling.gke.io/provisioning-request"
_HARD: Final = ("NoSchedule", "NoExecute")
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
COMPUTE_CLASS: Final = "cloud.google.com/compute-class"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
_OWN_TAINT: Final = ("eks", "gke", "karpenter")
"""Backends whose machines get a taint that keeps other pods away; GKE adds the same one itself."""
MOST_TAINTS: Final = 8
"""That a ResourceFlavor takes, and tolerations as well."""
CLUSTER_API_POOL: Final = "node.cluster.x-k8s.io/trainer-infra-pool"
"""Cluster API copies to nodes only labels of its own domains."""
_AKS_TAINT: Final = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}
_AKS_SPOT: Final = {
    "key": "kubernetes.azure.com/scalesetpriority",
    "value": "spot",
    "effect": "NoSchedule",
}
"""What AKS adds to spot machines."""


def spec_of(declared: Declaration) -> PoolSpec:
    """What a declaration comes to, of which `checks` found no problem."""
    args, fabric = declared.args, _fabric(declared)
    taints = tuple(_taints(declared))
    labels = _selector_labels(declared)
    return PoolSpec(
        name=declared.name,
        resource=declared.resource,
        gpus_per_node=declared.gpus or 0,
        max_nodes=declared.most,
        min_nodes=declared.least,
        capacity=_capacity(declared, fabric),
        labels=labels,
        own_labels=dict(args.get("labels", {})),
        node_labels={**_known_labels(declared), **args.get("labels", {}), **labels},
        taints=taints,
        tolerations=_tolerations(declared, taints),
        topology=declared.levels,
        domain_nodes=args.get("domain_nodes"),
        accelerator=declared.accelerator.name if declared.accelerator else args.get("accelerator"),
        machine_type=args.get("machine_type") or (
            declared.machines[0].name if len(declared.machines) == 1 else None
        ),
        backend=declared.backend,
        is_static=declared.is_static,
        zones=tuple(args.get("zones", ())),
        capacity_type=declared.capacity_type,
        reservation=args.get("reservation"),
        max_run_duration=args.get("max_run_duration"),
        provisioning_class=args.get("provisioning_class"),
        driver=args.get("driver", "managed"),
        fabric=fabric,
        pod_annotations=_pod_annotations(declared),
        queueing=declared.queues,
    )  # fmt: skip


def _selector_labels(declared: Declaration) -> Mapping[str, str]:
    """What the pool's machines are chosen by."""
    if declared.backend == "gke_compute_class":
        return {COMPUTE_CLASS: declared.name}
    if declared.backend == "cluster_api":
        return {CLUSTER_API_POOL: declared.name}
    if declared.backend != "existing":
        return {names.POOL_LABEL: declared.name}
    return declared.args.get("labels") or {INSTANCE_TYPE: declared.args["machine_type"]}


def _known_labels(declared: Declaration) -> Mapping[str, str]:
    """Labels that clouds and autoscalers give the machines."""
    kinds = {each.name for each in declared.machines}
    known = {INSTANCE_TYPE: kinds.pop()} if len(kinds) == 1 else {}
    if declared.backend == "karpenter":
        known["karpenter.sh/nodepool"] = declared.name
    return {**known, **accelerator_labels(declared)}


def _taints(declared: Declaration) -> list[JSONObject]:
    on_aks = declared.backend == "aks"
    spot = [_AKS_SPOT] if on_aks and declared.capacity_type == "spot" else []
    if "taints" in declared.args:
        return [*(dict(each) for each in declared.args["taints"]), *spot]
    if on_aks:
        return [_AKS_TAINT, *spot]
    if declared.backend in _OWN_TAINT:
        return [{"key": declared.resource, "value": "present", "effect": "NoSchedule"}]
    return []


def _tolerations(declared: Declaration, taints: tuple[JSONObject, ...]) -> tuple[JSONObject, ...]:
    """Of the taints, then of those that clouds put on such machines by themselves."""
    made = [
        _toleration(each["key"], each.get("value", ""), each["effect"])
        for each in taints
        if (each["key"], each["effect"]) != (declared.resource, "NoSchedule")
    ]
    made.append(_toleration(declared.resource))
    if declared.backend == "gke_compute_class":
        made.append(_toleration(COMPUTE_CLASS, declared.name))
    if declared.args.get("provisioning_class") == QUEUED:
        made.append(_toleration("cloud.google.com/gke-queued", "true"))
    return tuple(made[:MOST_TAINTS])


def _toleration(key: str, value: str = "", effect: str = "NoSchedule") -> JSONDict:
    operator = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return {"key": key, **operator, "effect": effect}


def taint_text(taint: JSONObject) -> str:
    """A taint as one text, which AKS and the cluster autoscaler read."""
    return f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"


def _capacity(declared: Declaration, fabric: Fabric | None) -> Mapping[str, str | int]:
    """What every machine of the pool has: of several machine types the least of each resource."""
    rooms = [room_for_pods(each.cores, each.memory) for each in declared.machines]
    least: dict[str, str | int] = {
        name: min((each[name] for each in rooms), key=quantity.parse_quantity)
        for name in (rooms[0] if rooms else ())
    }
    least[declared.resource] = declared.gpus or 0
    if fabric is not None and fabric.resource:
        least[fabric.resource] = fabric.interfaces
    return {**least, **declared.args.get("capacity", {})}


def _fabric(declared: Declaration) -> Fabric | None:
    if declared.fabric is None:
        return None
    given = declared.fabric_args
    interfaces = given.get("interfaces")
    if interfaces is None and declared.fabric.name == "efa":
        interfaces = min((each.efa for each in declared.machines), default=0)
    return fabric_of(
        declared.fabric.name,
        interfaces=interfaces,
        resource=given.get("resource", ""),
        networks=tuple(given.get("networks", ())),
        environment=given.get("environment"),
    )


def _pod_annotations(declared: Declaration) -> Mapping[str, str]:
    forbids = declared.block("karpenter").get("do_not_disrupt", True)
    return {DO_NOT_DISRUPT: "true"} if declared.backend == "karpenter" and forbids else {}


def flavor_arguments(spec: PoolSpec, topology: Topology | None) -> ResourceFlavorArgs:
    """The arguments of its ResourceFlavor.

    The flavor's tolerations are added to the pods of admitted jobs, so that no job has to write them. It
    is made after the topology, and deleted before.
    """
    taints = [dict(each) for each in spec.taints if each["effect"] in _HARD]
    args: dict[str, Any] = {
        "node_labels": dict(spec.labels),
        "tolerations": [dict(each) for each in spec.tolerations],
    }
    if taints:
        args["node_taints"] = taints
    if topology is not None:
        args["topology_name"] = topology
    return cast("ResourceFlavorArgs", args)


def admission_arguments(spec: PoolSpec, provisioning_class: str) -> ProvisioningAdmissionArgs:
    """The arguments of its ProvisioningAdmission.

    GKE marks the nodes that it made for a job, and the job's pods have to select them.
    """
    args: ProvisioningAdmissionArgs = {
        "provisioning_class": provisioning_class,
        "managed_resources": [spec.resource],
    }
    if spec.max_run_duration is not None:
        args["parameters"] = {"maxRunDurationSeconds": str(spec.max_run_duration)}
    if provisioning_class == QUEUED:
        args["pod_set_updates"] = [{"key": _REQUEST, "value_from_detail": "ResizeRequestName"}]
    return args
