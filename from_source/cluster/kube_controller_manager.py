"""kube-controller-manager v1.34.4: all default controllers, and a short wait for a lost node."""

from typing import Final

from from_source.cluster import certificates, credentials, kube_apiserver, kubernetes
from from_source.cluster.daemon import Component

LOST_AFTER: Final = 12
"""Seconds without a sign of life after which a node is NotReady; tests of a lost node wait."""


def component() -> Component:
    """The controller manager.

    Raises:
        NotAvailable: It cannot be built here.
    """
    authority = certificates.authority()
    flags = {
        "kubeconfig": str(credentials.kubeconfig("system:kube-controller-manager")),
        "bind-address": "127.0.0.1",
        "leader-elect": "false",
        "use-service-account-credentials": "true",
        "service-account-private-key-file": str(kube_apiserver.service_accounts()),
        "root-ca-file": str(authority),
        "cluster-signing-cert-file": str(authority),
        "cluster-signing-key-file": str(authority.with_suffix(".key")),
        "node-monitor-grace-period": f"{LOST_AFTER}s",
        "node-monitor-period": "2s",
        "kube-api-qps": "500",
        "kube-api-burst": "1000",
    }
    return kubernetes.component("kube-controller-manager", flags)
