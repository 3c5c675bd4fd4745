"""NVIDIA's driver of DynamicResourceAllocation: values of its chart (kubernetes-sigs, 0.5).

Jobs ask for its GPUs by claims, which Trainer counts as no GPU (kubeflow/trainer#4027): torch then starts a
process for each core, so such a job says `numProcPerNode` itself. Not run on hardware by us.
"""

from typing import Final

from trainer_infra.json_values import JSONDict
from trainer_infra.platform.drivers.driver_arguments import DeviceDriverArgs
from trainer_infra.platform.drivers.gpu_operator import GPU_TOLERATION

NAMESPACE: Final = "dra-driver-nvidia-gpu"
CHART: Final = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
VERSION: Final = "0.5.0"
_GKE_DRIVER: Final = "/home/kubernetes/bin/nvidia"


def dra_driver_values(args: DeviceDriverArgs) -> JSONDict:
    """Values of the chart before those of the program."""
    tolerations = [dict(each) for each in args.get("tolerations", (GPU_TOLERATION,))]
    return {
        "nvidiaDriverRoot": _GKE_DRIVER if args.get("cloud") == "gcp" else "/",
        "resources": {
            "gpus": {"enabled": True},
            "computeDomains": {"enabled": args.get("compute_domains", True)},
        },
        # The chart refuses GPUs without it, for clusters that have a device plugin as well.
        "gpuResourcesEnabledOverride": True,
        "kubeletPlugin": {"tolerations": tolerations},
    }
