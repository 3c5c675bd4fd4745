"""kube-scheduler v1.34.4, with its default profile."""

from from_source.cluster import credentials, kubernetes
from from_source.cluster.daemon import Component


def component() -> Component:
    """The scheduler.

    Raises:
        NotAvailable: It cannot be built here.
    """
    flags = {
        "kubeconfig": str(credentials.kubeconfig("system:kube-scheduler")),
        "bind-address": "127.0.0.1",
        "leader-elect": "false",
        "kube-api-qps": "500",
        "kube-api-burst": "1000",
    }
    return kubernetes.component("kube-scheduler", flags)
