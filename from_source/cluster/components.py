"""The components of the cluster, by name and in the order in which they start.

Each is described by its own file; a description is made just before the start, because it names
what the earlier ones made.
"""

import signal
import sys
from typing import Final

from from_source.cluster import (
    build,
    containerd,
    coredns,
    daemon,
    etcd,
    forwarder,
    jobset,
    kube_apiserver,
    kube_controller_manager,
    kube_proxy,
    kube_scheduler,
    kubectl,
    kubelet,
    kubernetes,
    live,
    namespaces,
    storage,
)
from from_source.cluster.daemon import Component
from trainer_infra.errors import NotAvailable
from trainer_infra.local.network import reserved_port


def _forwarder() -> Component:
    holder = daemon.recorded(daemon.HOLDER)
    if holder is None:
        raise NotAvailable("the cluster's namespaces are gone; `make cluster` makes them anew")
    inside = (f"/proc/{holder.pid}/ns/net", namespaces.ADDRESS, "6443")
    command = (sys.executable, str(forwarder.__file__), str(port()), *inside)
    return Component("forwarder", command, inside=False)


_DESCRIBED: Final = {
    daemon.HOLDER: namespaces.component,
    "forwarder": _forwarder,
    "etcd": lambda: etcd.component()[0],
    "containerd": containerd.component,
    "kube-apiserver": lambda: kube_apiserver.component(etcd.component()[1], port()),
    "kube-controller-manager": kube_controller_manager.component,
    "kube-scheduler": kube_scheduler.component,
    "kubelet": kubelet.component,
    "kube-proxy": kube_proxy.component,
    "coredns": coredns.component,
}

ORDER: Final = tuple(_DESCRIBED)
"""Names of the components."""


def build_all() -> None:
    """Build what is missing: minutes the first time, and nothing runs meanwhile.

    Raises:
        NotAvailable: A program cannot be built here.
    """
    programs = [kubernetes.program(each) for each in ORDER if each.startswith("kube")]
    programs += [coredns.COREDNS, jobset.JOBSET, storage.PROVISIONER]
    build.build_all([*programs, *build.not_on_path((etcd.ETCD, kubectl.KUBECTL))])


def start(name: str) -> None:
    """Start a component, or let it go on where it runs, and wait until it answers.

    Raises:
        NotAvailable: It does not.
    """
    component = _DESCRIBED[name]()
    if daemon.alive(name):
        daemon.signalled(name, signal.SIGCONT)
    else:
        daemon.start(component)
    daemon.wait_until_ready(component)


def port() -> int:
    """The port on 127.0.0.1 that leads to the API server: a free one at first, then always that."""
    file = live.made() / "port"
    if not file.exists():
        with reserved_port() as free:
            live.write_private(file, str(free).encode())
    return int(file.read_text())
