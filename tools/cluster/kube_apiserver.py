"""kube-apiserver v1.34.4, built from Go modules: on loopback, with one user who may do all.

Called by apiserver.py. The certificate is the server's own; the user's token is made at the
start. The port is reserved while the server starts, so that no other program gets it in between.
"""

import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tools.cluster import build
from tools.cluster.build import Program
from tools.cluster.client import Client, Unreachable
from tools.cluster.process import Process

VERSION: Final = "v1.34.4"
"""Of Kubernetes; go/kubernetes/go.mod names the same."""

_VERSION_PACKAGE: Final = "k8s.io/component-base/version"

KUBE_APISERVER: Final = Program(
    "kube-apiserver",
    "kubernetes",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    f"-s -w -X {_VERSION_PACKAGE}.gitVersion={VERSION}"
    f" -X {_VERSION_PACKAGE}.gitMajor=1 -X {_VERSION_PACKAGE}.gitMinor=34",
)
"""What is built; without the version the server takes itself for v0.0.0."""


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


def start(folder: Path, etcd: str) -> tuple[Process, Address]:
    """Start the server with its files in a folder and wait until it serves.

    Args:
        folder: a folder of our own.
        etcd: address of etcd for clients.

    Raises:
        NotAvailable: It cannot be built or does not come up.
    """
    token = secrets.token_hex(16)
    _write_private(folder / "tokens.csv", f'{token},admin,admin,"system:masters"\n'.encode())
    _write_private(folder / "service-accounts.key", _service_account_key())
    with _reserved_port() as port:
        address = Address(
            f"https://127.0.0.1:{port}", token, folder / "certificates" / "apiserver.crt"
        )
        process = Process([program(), *_flags(folder, etcd, port)], folder)
        process.wait_until_ready(lambda: _serves(address))
    return process, address


def _flags(folder: Path, etcd: str, port: int) -> Iterator[str]:
    key = str(folder / "service-accounts.key")
    flags = {
        "etcd-servers": etcd,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": str(port),
        "permit-port-sharing": "true",
        "cert-dir": str(folder / "certificates"),
        "token-auth-file": str(folder / "tokens.csv"),
        "authorization-mode": "Node,RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": key,
        "service-account-signing-key-file": key,
        "service-cluster-ip-range": "10.96.0.0/16",
        "endpoint-reconciler-type": "none",
    }
    return (f"--{name}={value}" for name, value in flags.items())


def _serves(address: Address) -> bool:
    """Whether it is ready and has made the namespace `default`."""
    if not address.certificate.exists():
        return False
    try:
        with Client(address) as client:
            paths = ("/readyz", "/api/v1/namespaces/default")
            return all(client.get(path).status == 200 for path in paths)  # noqa: PLR2004  HTTP's OK
    except Unreachable:
        return False


def _write_private(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(content)


def _service_account_key() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


@contextmanager
def _reserved_port() -> Iterator[int]:
    """A free port that only a program which shares it with us can take."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        yield port
