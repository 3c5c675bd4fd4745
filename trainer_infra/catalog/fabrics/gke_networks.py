"""Several networks of one pod on GKE: annotations of pods, paths of nodes that pods see, and daemons beside them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from trainer_infra.catalog.fabrics.fabric import Fabric
from trainer_infra.catalog.fabrics.pod_patch import PodPatch
from trainer_infra.json_values import JSONDict, JSONObject

LIBRARIES: Final = "/usr/local/nvidia/lib64"

DRIVER: Final[JSONObject] = {
    "name": "fabric-nvidia", "hostPath": {"path": "/home/kubernetes/bin/nvidia"}
}  # fmt: skip
"""Where GKE has NVIDIA's driver, and installers put NCCL's plugins."""
DRIVER_MOUNT: Final[JSONObject] = {"name": "fabric-nvidia", "mountPath": "/usr/local/nvidia"}
_SYSTEM_VOLUMES: Final[tuple[JSONObject, ...]] = (
    {"name": "fabric-sys", "hostPath": {"path": "/sys"}},
    {"name": "fabric-proc-sys", "hostPath": {"path": "/proc/sys"}},
)
_SYSTEM_MOUNTS: Final[tuple[JSONObject, ...]] = (
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


def cards(fabric: Fabric) -> str:
    """The interfaces beside the first one, as variables of NCCL list them."""
    return ",".join(f"eth{each + 1}" for each in range(fabric.interfaces))


def daemon(
    name: str,
    image: str,
    capabilities: Sequence[str],
    mounts: Sequence[JSONObject] = (),
    **start: Any,
) -> JSONDict:
    """A container that runs beside the training and sets up network cards; `start` has its command."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        **start,
        "env": [{"name": "LD_LIBRARY_PATH", "value": LIBRARIES}],
        "securityContext": {"capabilities": {"add": capabilities}},
        "volumeMounts": [DRIVER_MOUNT, *mounts, *_SYSTEM_MOUNTS],
    }


def daemon_patch(
    fabric: Fabric, daemon: JSONObject, own: PodPatch, devices: Sequence[str] = ()
) -> PodPatch:
    """What pods get with a daemon, beside what is their own; `devices` are device files that it needs besides GPUs."""
    files = (*(f"nvidia{index}" for index in range(_GPUS)), "nvidiactl", "nvidia-uvm", *devices)
    paths = "".join(f"- path: /dev/{each}\n" for each in files)
    networks = fabric.networks or tuple(f"vpc{each + 1}" for each in range(fabric.interfaces))
    return PodPatch(
        annotations={
            # GKE's device injector gives the container all GPUs by it, without counting them.
            f"devices.gke.io/container.{daemon['name']}": paths,
            **interface_annotations(networks),
        },
        env=own.env,
        capabilities=("IPC_LOCK",),
        mounts=(DRIVER_MOUNT, *own.mounts),
        volumes=(DRIVER, *_SYSTEM_VOLUMES, *own.volumes),
        init_containers=(daemon,),
    )
