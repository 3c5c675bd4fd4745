"""NVIDIA's device plugin alone: it offers the GPUs of machines that have the driver as `nvidia.com/gpu`.

A pod that runs keeps its GPUs while the plugin starts anew. Not run on hardware by us.
"""

from typing import Final

from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.drivers.driver_arguments import DeviceDriverArgs
from trainer_infra.platform.drivers.gpu_operator import GPU_TOLERATION

NAMESPACE: Final = "kube-system"
IMAGE: Final = "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"
_NAME: Final = "nvidia-device-plugin"
_SOCKETS: Final = "/var/lib/kubelet/device-plugins"
_LABELS: Final = {"app.kubernetes.io/name": _NAME}


def device_plugin_objects(args: DeviceDriverArgs, namespace: str) -> tuple[JSONObject, ...]:
    """The DaemonSet.

    Args:
        args: the program's.
        namespace: where it runs.
    """
    container: JSONDict = {
        "name": _NAME,
        "image": args.get("image", IMAGE),
        # A machine without GPUs has nothing to offer, which is no failure.
        "env": [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "sockets", "mountPath": _SOCKETS}],
    }
    pod: JSONDict = {
        "priorityClassName": "system-node-critical",
        "tolerations": [dict(each) for each in args.get("tolerations", (GPU_TOLERATION,))],
        "containers": [container],
        "volumes": [{"name": "sockets", "hostPath": {"path": _SOCKETS}}],
    }
    if "node_selector" in args:
        pod["nodeSelector"] = dict(args["node_selector"])
    if "runtime_class" in args:
        pod["runtimeClassName"] = args["runtime_class"]
    spec = {
        "selector": {"matchLabels": _LABELS},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": _LABELS}, "spec": pod},
    }
    metadata = {"name": _NAME, "namespace": namespace, "labels": _LABELS}
    return ({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": spec},)
