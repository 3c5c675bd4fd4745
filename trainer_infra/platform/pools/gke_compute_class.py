"""Backend `gke_compute_class`: a ComputeClass, by which GKE makes machines for pods that wait.

GKE can move pods to a better rule of the class, and to fewer machines; a training pod would lose its
work, so the first is off, and the second waits until a machine does nothing. Fields: GKE's reference of
ComputeClass (cloud.google.com/v1), read in October 2026; its definition is GKE's own, and no schema of it
was here to try the object on.
"""

from collections.abc import Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.pools.declaration import Declaration, gke_accelerator
from trainer_infra.rules.node_pool import PoolSpec

_IDLE_MINUTES: Final = 10


def compute_class_objects(declared: Declaration, spec: PoolSpec) -> tuple[JSONObject, ...]:
    """The ComputeClass, of one rule."""
    block = declared.block("gke_compute_class")
    config: JSONDict = {**block.get("node_pool_config", {})}
    config["nodeLabels"] = {
        **config.get("nodeLabels", {}),
        **declared.args.get("labels", {}),
        names.POOL_LABEL: spec.name,
    }
    if spec.taints:
        config["taints"] = [dict(each) for each in spec.taints]
    fields: JSONDict = {
        "priorities": [_rule(declared, block)],
        "nodePoolAutoCreation": {"enabled": block.get("auto_creation", True)},
        "nodePoolConfig": config,
        "activeMigration": {"optimizeRulePriority": False},
        "autoscalingPolicy": {
            "consolidationDelayMinutes": _IDLE_MINUTES,
            "consolidationThreshold": 0,
            "gpuConsolidationThreshold": 0,
        },
        "whenUnsatisfiable": block.get("when_unsatisfiable", "DoNotScaleUp"),
    }
    made = {"apiVersion": "cloud.google.com/v1", "kind": "ComputeClass", "spec": fields}
    return ({**made, "metadata": {"name": spec.name}},)


def _rule(declared: Declaration, block: Mapping[str, Any]) -> JSONDict:
    driver = declared.args.get("driver", "managed")
    version = block.get("driver_version", "default") if driver == "managed" else "disabled"
    gpu = {"type": gke_accelerator(declared), "count": declared.gpus, "driverVersion": version}
    rule: JSONDict = {"gpu": gpu, "spot": declared.capacity_type == "spot"}
    if "machine_type" in declared.args:
        rule["machineType"] = declared.args["machine_type"]
    elif len(declared.machines) == 1:
        rule["machineType"] = declared.machines[0].name
    if declared.capacity_type == "flex-start":
        lead = block.get("recycling_lead_time")
        recycling = {} if lead is None else {"nodeRecycling": {"leadTimeSeconds": lead}}
        rule["flexStart"] = {"enabled": True, **recycling}
    if declared.capacity_type == "reserved":
        rule["reservations"] = _reservations(declared, block)
    if "max_run_duration" in declared.args:
        rule["maxRunDurationSeconds"] = declared.args["max_run_duration"]
    if "placement_policy" in block:
        rule["placement"] = {"policyName": block["placement_policy"]}
    if "zones" in declared.args:
        rule["location"] = {"zones": list(declared.args["zones"])}
    return rule


def _reservations(declared: Declaration, block: Mapping[str, Any]) -> JSONDict:
    if "reservation" not in declared.args:
        return {"affinity": "AnyBestEffort"}
    one: JSONDict = {"name": declared.args["reservation"]}
    if "reservation_project" in block:
        one["project"] = block["reservation_project"]
    if "reservation_block" in block:
        one["reservationBlock"] = {"name": block["reservation_block"]}
    return {"affinity": "Specific", "specific": [one]}
