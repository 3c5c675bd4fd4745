"""The network and mount namespaces in which all of the cluster runs.

Started first by up.py: one process that only holds them. The network has no way out, so that what
is not there is refused at once: it has an address on `lo` that pods reach, and a route by which the
addresses of services leave the node's own programs. In the mount namespace the folders that
Kubernetes programs use by habit are the cluster's own, and settings of the whole machine are
covered, so that with the last process every mount, link, route and rule is gone.
"""

import shlex
from pathlib import Path
from typing import Final

from from_source.cluster import daemon, live
from from_source.cluster.daemon import Component

ADDRESS: Final = "10.99.0.1"
"""The node's address, which pods reach too."""

PODS: Final = "10.244.0.0/16"
"""Addresses of pods."""

SERVICES: Final = "10.96.0.0/16"
"""Addresses of services."""

FOLDERS: Final = {
    "/run/containerd": "run/containerd",
    "/run/netns": "run/netns",
    "/var/lib/cni": "cni",
    "/var/lib/containerd": "containerd",
    "/var/lib/kubelet": "kubelet",
    "/var/log/containers": "logs/containers",
    "/var/log/pods": "logs/pods",
    "/opt/local-path-provisioner": "volumes",
}
"""Folders as programs know them, and which of the cluster's stand there."""

COVERED: Final = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
"""Settings below /proc/sys that a kubelet writes for the whole machine; it writes to copies."""

_READY: Final = "namespaces.ready"


def component() -> Component:
    """The holder; it is ready when all is mounted and routed."""
    ready = live.made() / _READY
    if not daemon.alive(daemon.HOLDER):
        ready.unlink(missing_ok=True)
    unshared = ("unshare", "--net", "--mount", "--propagation", "private", "sh", "-ec")
    return Component(daemon.HOLDER, (*unshared, _script(ready)), ready.exists, inside=False)


def _script(ready: Path) -> str:
    """What runs in the new namespaces."""
    lines = ["mount --make-rshared /"]
    for target, own in FOLDERS.items():
        source = live.made(*own.split("/"))
        lines += [f"mkdir -p {target}", f"mount --bind {shlex.quote(str(source))} {target}"]
    for setting in COVERED:
        copy = live.made("settings") / setting.replace("/", "-")
        lines += [
            f"cat /proc/sys/{setting} > {shlex.quote(str(copy))}",
            f"mount --bind {shlex.quote(str(copy))} /proc/sys/{setting}",
        ]
    resolver = live.made() / "resolv.conf"
    resolver.write_text(f"nameserver {ADDRESS}\n")
    lines += [
        f"mount --bind {shlex.quote(str(resolver))} /etc/resolv.conf",
        "ip link set lo up",
        f"ip address add {ADDRESS}/32 dev lo",
        f"ip route add {SERVICES} dev lo src {ADDRESS}",
        "echo 1 > /proc/sys/net/ipv4/ip_forward",
        f": > {shlex.quote(str(ready))}",
        "exec sleep infinity",
    ]
    return "\n".join(lines)
