"""GPUDirect-TCPX of GKE's A3 High machines: four networks, and a daemon beside each training pod.

The daemon's version belongs to the plugin that the installer puts on the nodes: v2.0.12 with plugin
v3.1.9. The nodes need the DaemonSets `nccl-tcpx-installer` and `device-injector`, the cluster multiple
networks.
"""

from typing import Final

from trainer_infra.catalog.fabrics import gke_networks
from trainer_infra.catalog.fabrics.fabric import Fabric, FabricPreset
from trainer_infra.catalog.fabrics.pod_patch import PodPatch
from trainer_infra.json_values import JSONObject

_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpx/tcpgpudmarxd-dev:v2.0.12"
_SOCKETS: Final = "/run/tcpx"
_ENVIRONMENT: Final = {
    "LD_LIBRARY_PATH": gke_networks.LIBRARIES,
    "NCCL_GPUDIRECTTCPX_CTRL_DEV": "eth0",
    # Cores beside which each card and its GPUs are.
    "NCCL_GPUDIRECTTCPX_TX_BINDINGS": (
        "eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177"
    ),
    "NCCL_GPUDIRECTTCPX_RX_BINDINGS": (
        "eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191"
    ),
    "NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX": _SOCKETS,
    "NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS": "500000",
    "NCCL_GPUDIRECTTCPX_FORCE_ACK": "0",
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_CROSS_NIC": "0",
    "NCCL_ALGO": "Ring",
    "NCCL_PROTO": "Simple",
    "NCCL_MAX_NCHANNELS": "12",
    "NCCL_MIN_NCHANNELS": "12",
    "NCCL_NSOCKS_PERTHREAD": "4",
    "NCCL_SOCKET_NTHREADS": "1",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_BUFFSIZE": "4194304",
    "NCCL_DYNAMIC_CHUNK_SIZE": "524288",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "NCCL_P2P_PCI_CHUNKSIZE": "524288",
    "NCCL_P2P_NVL_CHUNKSIZE": "1048576",
}
_SOCKET_MOUNT: Final[JSONObject] = {"name": "fabric-tcpx-sockets", "mountPath": _SOCKETS}
_DAEMON: Final = gke_networks.daemon(
    "tcpx-daemon",
    _IMAGE,
    ["NET_ADMIN"],
    [_SOCKET_MOUNT],
    command=[
        "/tcpgpudmarxd/build/app/tcpgpudmarxd",
        *("--gpu_nic_preset", "a3vm", "--gpu_shmem_type", "fd"),
        *("--uds_path", _SOCKETS, "--setup_param", "--verbose 128 2 0"),
    ],
)


def _patch(fabric: Fabric) -> PodPatch:
    own = PodPatch(
        env={**_ENVIRONMENT, "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME": gke_networks.cards(fabric)},
        mounts=(_SOCKET_MOUNT,),
        volumes=({"name": "fabric-tcpx-sockets", "emptyDir": {}},),
    )
    return gke_networks.daemon_patch(fabric, _DAEMON, own)


PRESET: Final = FabricPreset(
    name="tcpx",
    title="GPUDirect-TCPX (GKE, A3 High)",
    cloud="gcp",
    source="GKE: maximize GPU network bandwidth in Standard mode clusters",
    date="2026-10",
    proven="api",
    interfaces=4,
    resource="",
    patch=_patch,
)
