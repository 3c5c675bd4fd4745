"""kubelet v1.34.4: the node. Its folders are the cluster's own, see namespaces.py."""

import json
from typing import Any, Final

from from_source.cluster import certificates, cgroup, containerd, credentials, kubernetes, live
from from_source.cluster.daemon import Component
from from_source.cluster.namespaces import ADDRESS

_LEASE: Final = 8
"""Seconds that the node's lease lasts; it is renewed four times as often, well within the
controller manager's patience (kube_controller_manager.LOST_AFTER)."""


def component() -> Component:
    """The kubelet.

    Raises:
        NotAvailable: It cannot be built here.
    """
    cgroup.make()
    file = live.made() / "kubelet.json"
    live.write_private(file, json.dumps(_configuration(), indent=2).encode())
    flags = {
        "config": str(file),
        "kubeconfig": str(credentials.kubeconfig(f"system:node:{live.NODE}")),
        "hostname-override": live.NODE,
        "node-ip": ADDRESS,
    }
    return kubernetes.component("kubelet", flags)


def _configuration() -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(certificates.authority())},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": containerd.ENDPOINT,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup.name(),
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "clusterDNS": [ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "",
        "maxPods": 250,
        "nodeLeaseDurationSeconds": _LEASE,
        "nodeStatusUpdateFrequency": "4s",
        # JobSet waits for the certificate that it wrote to a secret to appear in its volume.
        "syncFrequency": "5s",
        # Images have no registry to come back from, and the disk is shared with other work.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi"},
        "kubeAPIQPS": 200,
        "kubeAPIBurst": 400,
    }
