"""etcd, where the API server keeps its objects: the one on PATH, else Go's v3.6.8.

It listens on a socket file in a folder of ours, which no other user may enter, so it needs neither
a free port nor a certificate.
"""

from pathlib import Path
from typing import Final

from from_source.cluster import build, live
from from_source.cluster.build import Program
from from_source.cluster.daemon import Component
from from_source.cluster.process import Process

ETCD: Final = Program("etcd", "etcd", "go.etcd.io/etcd/server/v3")
"""What is built where no etcd is on PATH."""

DATA: Final = "etcd"
"""Folder of its data, in the working directory."""

_SOCKET: Final = "etcd.sock:0"
"""A file in the working directory; etcd 3.4 wants every address to look like `host:port`."""

_UNUSED: Final = "http://localhost:0"
"""Where members of a cluster of several would reach this one."""


def program() -> str:
    """The file of etcd.

    Raises:
        NotAvailable: There is none and it cannot be built.
    """
    return build.found(ETCD)


def start(folder: Path) -> tuple[Process, str]:
    """Start etcd with its data in a folder: the process and the address for clients.

    Raises:
        NotAvailable: It cannot be built or does not come up.
    """
    socket = folder / _SOCKET
    process = Process(_command(folder), folder)
    process.wait_until_ready(socket.exists)
    return process, f"unix://{socket}"


def component() -> tuple[Component, str]:
    """The cluster's etcd, with the address for clients; its data stay until the cluster goes."""
    folder = live.folder()
    command = _command(folder)
    return Component("etcd", tuple(command)), f"unix://{folder / _SOCKET}"


def _command(folder: Path) -> list[str]:
    """Run in that folder, where the socket file then stands."""
    flags = {
        "data-dir": str(folder / DATA),
        "listen-client-urls": f"unix://{_SOCKET}",
        "advertise-client-urls": _UNUSED,
        "listen-peer-urls": "http://127.0.0.1:0",
        "initial-advertise-peer-urls": _UNUSED,
        "initial-cluster": f"default={_UNUSED}",
    }
    # What a test or a person tries is lost with the machine in any case, but not with the process.
    return [program(), *(f"--{key}={flags[key]}" for key in flags), "--unsafe-no-fsync"]
