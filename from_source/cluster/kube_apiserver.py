"""kube-apiserver v1.34.4, built from Go modules.

`start` is for apiserver.py: on loopback, with one user who may do all; the certificate is the
server's own, the user's token is made at the start, and the port is reserved while the server
starts, so that no other program gets it in between. It issues tokens of service accounts under its
own address, so that what is beside it finds the keys that verify them. `component` is for up.py: the server of a
cluster, which lives on in the cluster's network and is reached through forwarder.py.
"""

import secrets
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from from_source.cluster import build, certificates, credentials, kubernetes, live
from from_source.cluster.client import Client, Unreachable
from from_source.cluster.daemon import Component
from from_source.cluster.namespaces import ADDRESS, SERVICES
from from_source.cluster.process import Process
from trainer_infra.local.network import reserved_port

KUBE_APISERVER: Final = kubernetes.program("kube-apiserver")
"""What is built."""

_NAMES: Final = (
    "localhost",
    "127.0.0.1",
    ADDRESS,
    "10.96.0.1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
"""What the cluster's server is called from outside, on the node and in pods."""

_FEW_COLLECTIONS: Final = {"GOGC": "400"}
"""Of garbage: a start makes much, and takes a third less of the processor's time for half more memory."""


@dataclass(frozen=True, slots=True)
class Address:
    """How a client reaches the server."""

    url: str
    """`https://127.0.0.1:<port>`."""
    token: str
    """Bearer token of a user in `system:masters`."""
    certificate: Path
    """File with the server's certificate, which vouches for itself."""


def program() -> str:
    """The server's file, built where it is missing.

    Raises:
        NotAvailable: It cannot be built here.
    """
    return str(build.built(KUBE_APISERVER))


def component(etcd: str, port: int) -> Component:
    """The cluster's server.

    Args:
        etcd: address of etcd for clients.
        port: where the forwarder listens on 127.0.0.1.
    """
    server = certificates.server("kube-apiserver", _NAMES)
    kubelets = certificates.client("kube-apiserver-kubelet-client", "system:masters")
    flags = _shared_flags(service_accounts(), credentials.tokens()) | {
        "etcd-servers": etcd,
        "bind-address": "0.0.0.0",  # noqa: S104  all of a network that only the cluster is in
        "advertise-address": ADDRESS,
        "secure-port": "6443",
        "tls-cert-file": str(server),
        "tls-private-key-file": str(server.with_suffix(".key")),
        "client-ca-file": str(certificates.authority()),
        "kubelet-client-certificate": str(kubelets),
        "kubelet-client-key": str(kubelets.with_suffix(".key")),
        "kubelet-preferred-address-types": "InternalIP",
    }
    return Component(
        "kube-apiserver", (program(), *_arguments(flags)), lambda: serves(outside(port))
    )


def outside(port: int) -> Address:
    """How this machine reaches the cluster's server."""
    token = credentials.token(credentials.ADMIN)
    return Address(f"https://127.0.0.1:{port}", token, certificates.authority())


def service_accounts() -> Path:
    """The cluster's key for service accounts, which the controller manager signs with."""
    file = certificates.folder() / "service-accounts.key"
    if not file.exists():
        live.write_private(file, certificates.key())
    return file


def start(
    folder: Path, etcd: str, more: Mapping[str, str] | None = None
) -> tuple[Process, Address]:
    """Start the server with its files in a folder and wait until it serves.

    Args:
        folder: a folder of our own.
        etcd: address of etcd for clients.
        more: flags besides those that it always has.

    Raises:
        NotAvailable: It cannot be built or does not come up.
    """
    token = secrets.token_hex(16)
    tokens, key = folder / "tokens.csv", folder / "service-accounts.key"
    live.write_private(tokens, f'{token},admin,admin,"system:masters"\n'.encode())
    live.write_private(key, certificates.key())
    with reserved_port() as port:
        address = Address(
            f"https://127.0.0.1:{port}", token, folder / "certificates" / "apiserver.crt"
        )
        flags = _shared_flags(key, tokens) | {
            "etcd-servers": etcd,
            "service-account-issuer": address.url,
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            "secure-port": str(port),
            "cert-dir": str(folder / "certificates"),
            "endpoint-reconciler-type": "none",
            **(more or {}),
        }
        process = Process([program(), *_arguments(flags)], folder, _FEW_COLLECTIONS)
        process.wait_until_ready(lambda: serves(address))
    return process, address


def _shared_flags(key: Path, tokens: Path) -> dict[str, str]:
    """What is the same with and without nodes."""
    return {
        "token-auth-file": str(tokens),
        "authorization-mode": "Node,RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": str(key),
        "service-account-signing-key-file": str(key),
        "service-cluster-ip-range": SERVICES,
        "allow-privileged": "true",
    }


def _arguments(flags: dict[str, str]) -> Iterator[str]:
    return (f"--{name}={value}" for name, value in flags.items())


def serves(address: Address) -> bool:
    """Whether it is ready and has made the namespace `default`."""
    if not address.certificate.exists():
        return False
    try:
        with Client(address) as client:
            paths = ("/readyz", "/api/v1/namespaces/default")
            return all(client.get(path).status == 200 for path in paths)  # noqa: PLR2004  HTTP's OK
    except (Unreachable, ssl.SSLError):  # The server may still be writing its certificate.
        return False
