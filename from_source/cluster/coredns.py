"""CoreDNS v1.13.1: names of services and pods, as a process on the node."""

from typing import Final

from from_source.cluster import build, credentials, live
from from_source.cluster.build import Program
from from_source.cluster.daemon import Component
from from_source.cluster.namespaces import ADDRESS

COREDNS: Final = Program("coredns", "coredns", ".")
"""What is built: its main program is ours, with the plugins that the configuration below names."""


def component() -> Component:
    """CoreDNS; without a cache, so that a new pod's name is known at once.

    Raises:
        NotAvailable: It cannot be built here.
    """
    file = live.made() / "Corefile"
    live.write_private(file, _configuration().encode())
    return Component("coredns", (str(build.built(COREDNS)), "-conf", str(file)))


def _configuration() -> str:
    """Names outside the cluster do not exist: its network has no way out."""
    return f"""
cluster.local:53 in-addr.arpa:53 {{
    bind {ADDRESS}
    errors
    kubernetes {{
        kubeconfig {credentials.kubeconfig("coredns")}
        pods insecure
    }}
}}
.:53 {{
    bind {ADDRESS}
    errors
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""
