"""NVIDIA's GPU Operator: values of its chart under which an upgrade of the driver waits for training.

The operator replaces the driver node by node, and by its own defaults it waits for no pod: a training job
would lose its GPUs (NVIDIA/gpu-operator#2166, #901, #2570). Fields: ClusterPolicy of the operator 26.7, read
in October 2026. Not run on hardware by us.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.drivers.driver_arguments import DeviceDriverArgs

TRAINING_PODS: Final = names.JOBSET_NAME_LABEL
"""Every pod of a TrainJob is one of a JobSet, which has this label."""
GPU_TOLERATION: Final[JSONObject] = {
    "key": "nvidia.com/gpu",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_COMES_WITH_DRIVER: Final = ("aws", "gcp")
GKE_DRIVER: Final = "/home/kubernetes/bin/nvidia"


def has_driver(args: DeviceDriverArgs) -> bool:
    """Whether the machines come with the driver."""
    return args.get("has_driver", args.get("cloud") in _COMES_WITH_DRIVER)


def operator_values(args: DeviceDriverArgs) -> JSONDict:
    """Values of the chart before those of the program."""
    installed = has_driver(args)
    wait = {"podSelector": args.get("training_pods", TRAINING_PODS), "timeoutSeconds": 0}
    values: JSONDict = {
        "driver": {
            "enabled": not installed,
            "upgradePolicy": {
                "autoUpgrade": True,
                "maxParallelUpgrades": 1,
                "maxUnavailable": "25%",
                "waitForCompletion": wait,
                "gpuPodDeletion": {"force": False, "timeoutSeconds": 300, "deleteEmptyDir": False},
                "drain": {"enable": False},
            },
        },
        "cdi": {"enabled": True},
        "mig": {"strategy": "single"},
        "daemonsets": {
            "tolerations": [dict(each) for each in args.get("tolerations", (GPU_TOLERATION,))]
        },
        # Hooks that only helm runs: nothing here is installed by helm.
        "operator": {"upgradeCRD": False, "cleanupCRD": False},
        "node-feature-discovery": {"postDeleteCleanup": False},
    }
    if args.get("cloud") == "gcp":
        values["hostPaths"] = {"driverInstallDir": GKE_DRIVER}
        values["toolkit"] = {"installDir": GKE_DRIVER}
    elif installed:
        # An image with the driver has the toolkit, too.
        values["toolkit"] = {"enabled": False}
    return values


def critical_pods_quota(namespace: str) -> JSONObject:
    """What GKE wants to see before pods of a namespace may be critical to a node."""
    classes = ["system-node-critical", "system-cluster-critical"]
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": classes}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "critical-pods", "namespace": namespace},
        "spec": {"hard": {"pods": "1G"}, "scopeSelector": {"matchExpressions": [scope]}},
    }


def interruptions(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Values under which an upgrade of the driver ends training pods."""
    driver = values.get("driver", {})
    policy = driver.get("upgradePolicy", {})
    if not driver.get("enabled", True) or not policy.get("autoUpgrade", True):
        return
    found = (
        ("waitForCompletion.podSelector", "", "is empty, so that an upgrade waits for no pod"),
        ("gpuPodDeletion.force", True, "lets an upgrade end training pods"),
        ("drain.enable", True, "lets an upgrade end training pods"),
    )
    for path, bad, what in found:
        part, _, field = path.partition(".")
        if policy.get(part, {}).get(field, bad if bad == "" else False) == bad:
            fix = "leave it out, or say may_interrupt_training=True"
            yield Problem(f"values.driver.upgradePolicy.{path}", what, fix=fix)
    if policy.get("waitForCompletion", {}).get("timeoutSeconds", 0) != 0:
        what = "lets an upgrade end training pods after that time"
        path = "values.driver.upgradePolicy.waitForCompletion.timeoutSeconds"
        yield Problem(path, what, fix="write 0, or say may_interrupt_training=True")
