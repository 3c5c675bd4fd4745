"""Several networks of one pod on GKE: the annotations of pods, and paths of its nodes that pods see."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject

DRIVER: Final[JSONObject] = {
    "name": "fabric-nvidia", "hostPath": {"path": "/home/kubernetes/bin/nvidia"}
}  # fmt: skip
"""Where GKE has NVIDIA's driver, and installers put NCCL's plugins."""
DRIVER_MOUNT: Final[JSONObject] = {"name": "fabric-nvidia", "mountPath": "/usr/local/nvidia"}
SYSTEM_VOLUMES: Final[tuple[JSONObject, ...]] = (
    {"name": "fabric-sys", "hostPath": {"path": "/sys"}},
    {"name": "fabric-proc-sys", "hostPath": {"path": "/proc/sys"}},
)
SYSTEM_MOUNTS: Final[tuple[JSONObject, ...]] = (
    {"name": "fabric-sys", "mountPath": "/hostsysfs"},
    {"name": "fabric-proc-sys", "mountPath": "/hostprocsysfs"},
)
"""What a daemon that sets up network cards needs."""
_GPUS: Final = 8


def interface_annotations(networks: Sequence[str]) -> Mapping[str, str]:
    """The annotations of a pod that has the default network and those, as eth1 and up."""
    interfaces = [
        {"interfaceName": f"eth{index}", "network": name}
        for index, name in enumerate(("default", *networks))
    ]
    return {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": json.dumps(interfaces),
    }


def device_annotation(container: str, *more: str) -> Mapping[str, str]:
    """The annotation by which GKE's device injector gives a container all GPUs without counting them.

    Args:
        container: its name.
        more: further device files.
    """
    files = (*(f"nvidia{index}" for index in range(_GPUS)), "nvidiactl", "nvidia-uvm", *more)
    lines = "".join(f"- path: /dev/{each}\n" for each in files)
    return {f"devices.gke.io/container.{container}": lines}
