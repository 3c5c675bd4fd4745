"""The network of pods: each has a link of its own to the node, which routes between them.

Debian's plugins `ptp`, `host-local` and `loopback`; everything is routed, so that services also
work between pods of the node without a kernel that filters bridges.
"""

import json
from pathlib import Path
from typing import Final

from from_source.cluster import live
from from_source.cluster.namespaces import PODS
from trainer_infra.errors import NotAvailable

PLACES: Final = ("/usr/lib/cni", "/opt/cni/bin")
"""Where packages put the plugins."""


def programs() -> Path:
    """The folder of the plugins.

    Raises:
        NotAvailable: There is none.
    """
    for place in map(Path, PLACES):
        if (place / "ptp").exists():
            return place
    raise NotAvailable(
        "a cluster needs the CNI plugins and found none; "
        "install the Debian package containernetworking-plugins"
    )


def configured() -> Path:
    """The folder with the network's description."""
    folder = live.made("cni.d")
    network = {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": PODS}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }
    live.write_private(folder / "10-pods.conflist", json.dumps(network, indent=2).encode())
    return folder
