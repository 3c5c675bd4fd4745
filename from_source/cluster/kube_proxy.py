"""kube-proxy v1.34.4: services by nftables, in the cluster's network only."""

from from_source.cluster import credentials, kubernetes, live
from from_source.cluster.daemon import Component


def component() -> Component:
    """The proxy; it leaves the machine's connection tracking as it is.

    Raises:
        NotAvailable: It cannot be built here.
    """
    flags = {
        "kubeconfig": str(credentials.kubeconfig("system:kube-proxy")),
        "hostname-override": live.NODE,
        "proxy-mode": "nftables",
        "conntrack-max-per-core": "0",
        "conntrack-tcp-timeout-established": "0s",
        "conntrack-tcp-timeout-close-wait": "0s",
    }
    return kubernetes.component("kube-proxy", flags)
