"""GPUDirect-TCPXO of GKE's A3 Mega machines: eight networks, and a daemon beside each training pod.

The daemon's version belongs to the plugin that the installer puts on the nodes: v1.0.21 with plugin
v1.0.15. The nodes need the DaemonSets `nccl-tcpxo-installer` and `device-injector`, the cluster multiple
networks. Where one of them is missing, NCCL falls back to TCP without an error: about 4 in place of 340
GB/s (NVIDIA's AI cluster runtime, measured by its authors).
"""

from typing import Final

from trainer_infra.catalog.fabrics import gke_networks
from trainer_infra.catalog.fabrics.fabric import Fabric, FabricPreset
from trainer_infra.catalog.fabrics.pod_patch import PodPatch

_IMAGE: Final = "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21"
_APERTURE: Final = "/dev/aperture_devices"
_ENVIRONMENT: Final = {
    "LD_LIBRARY_PATH": gke_networks.LIBRARIES,
    "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": _APERTURE,
    "NCCL_FASTRAK_CTRL_DEV": "eth0",
    "NCCL_FASTRAK_NUM_FLOWS": "2",
    "NCCL_FASTRAK_USE_SNAP": "1",
    "NCCL_FASTRAK_USE_LLCM": "1",
    "NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL": "0",
    "NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING": "0",
    "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS": "600000",
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_CROSS_NIC": "0",
    "NCCL_ALGO": "Ring,Tree",
    "NCCL_PROTO": "Simple",
    "NCCL_MIN_NCHANNELS": "4",
    "NCCL_NVLS_ENABLE": "0",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_BUFFSIZE": "8388608",
    "NCCL_DYNAMIC_CHUNK_SIZE": "524288",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "NCCL_P2P_PCI_CHUNKSIZE": "524288",
    "NCCL_P2P_NVL_CHUNKSIZE": "1048576",
    "NCCL_TUNER_PLUGIN": "libnccl-tuner.so",
    "NCCL_TUNER_CONFIG_PATH": f"{gke_networks.LIBRARIES}/a3plus_tuner_config.textproto",
    "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": (
        f"{gke_networks.LIBRARIES}/a3plus_guest_config.textproto"
    ),
}


def _patch(fabric: Fabric) -> PodPatch:
    entry = "/fts/entrypoint_rxdm_container.sh"
    options = f"--num_hops=2 --num_nics={fabric.interfaces} --uid= --alsologtostderr"
    daemon = gke_networks.daemon(
        "tcpxo-daemon",
        _IMAGE,
        ["NET_ADMIN", "NET_BIND_SERVICE"],
        command=["/bin/sh", "-c"],
        args=[f"set -ex; chmod 755 {entry}; exec {entry} {options}"],
    )
    own = PodPatch(
        env={**_ENVIRONMENT, "NCCL_FASTRAK_IFNAME": gke_networks.cards(fabric)},
        mounts=({"name": "fabric-aperture-devices", "mountPath": _APERTURE},),
        volumes=({"name": "fabric-aperture-devices", "hostPath": {"path": _APERTURE}},),
    )
    return gke_networks.daemon_patch(fabric, daemon, own, ["dmabuf_import_helper"])


PRESET: Final = FabricPreset(
    name="tcpxo",
    title="GPUDirect-TCPXO (GKE, A3 Mega)",
    cloud="gcp",
    source="GKE: maximize GPU network bandwidth in Standard mode clusters; NVIDIA AI cluster runtime: GKE TCPXO networking",
    date="2026-10",
    proven="api",
    interfaces=8,
    resource="",
    patch=_patch,
)
