"""containerd, which runs the pods: Debian's, or the one on PATH.

Its folders are the cluster's own, see namespaces.py.
"""

import socket
from pathlib import Path
from typing import Final

from from_source.cluster import cni, live
from from_source.cluster.busybox import IMAGE
from from_source.cluster.daemon import Component

ENDPOINT: Final = "unix:///run/containerd/containerd.sock"
"""Where it listens, as seen from inside."""


def outer_socket() -> Path:
    """Where it listens, as seen from outside."""
    return live.folder() / "run" / "containerd" / "containerd.sock"


def component() -> Component:
    """containerd; the image of a pod's sandbox is loaded after its start."""
    file = live.made() / "containerd.toml"
    live.write_private(file, _configuration().encode())
    return Component("containerd", ("containerd", "--config", str(file)), _listens)


def _listens() -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(outer_socket())) == 0


def _configuration() -> str:
    return f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni.programs()}"
    conf_dir = "{cni.configured()}"
"""
