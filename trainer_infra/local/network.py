"""Endpoint names become loopback addresses, and the rendezvous port a free one of this machine.

That is so in every command, argument, env value and ConfigMap text of a pod. The port that our plugins
rendered is replaced where they put it: directly behind an endpoint name, and in `PORTS`.
What the user wrote himself (`--port=29500`) stays.
"""

import errno
import random
import re
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local import unsupported_fields

RANGE: Final = range(20_000, 30_000)
"""Ports that no system gives to a program which asks for any: Linux begins at 32768, macOS at 49152.

Kubernetes' NodePorts begin at 30000: where this machine is a node, kube-proxy leads those elsewhere.
"""
TRIES: Final = 1000
_TYPES: Final = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}
LOOPBACK: Final = "127.0.0.1"
PORTS: Final = frozenset({names.PET_MASTER_PORT, names.DMLC_TRACKER_PORT})
"""Variables whose whole value is the rendezvous port."""


@dataclass(frozen=True, slots=True)
class Network:
    """How one attempt of a job is reached on this machine."""

    endpoints: re.Pattern[str]
    """Matches an endpoint name; group 1 is the rendezvous port behind it."""
    port: int
    """The free port that stands for the rendezvous port."""


def loopback_network(host_names: Iterable[str], namespace: str, port: int) -> Network:
    """The network of pods with these host names (`<pod>.<subdomain>`)."""
    hosts = "|".join(re.escape(name) for name in sorted(host_names, key=len, reverse=True))
    domain = rf"(?:\.{re.escape(namespace)}(?:\.svc(?:\.cluster\.local)?)?)?"
    behind = rf"(?::({names.RENDEZVOUS_PORT})(?!\d))?"
    pattern = rf"(?<![\w.-])(?:{hosts}){domain}(?![\w-]|\.\w){behind}"
    return Network(re.compile(pattern if hosts else r"(?!)()"), port)


def local_text(text: str, net: Network) -> str:
    """The text with its endpoint names as loopback addresses."""

    def address(match: re.Match[str]) -> str:
        return f"{LOOPBACK}:{net.port}" if match[1] else LOOPBACK

    return net.endpoints.sub(address, text)


def local_variable(name: str, value: str, net: Network) -> str:
    """The value of an env variable, with the rendezvous port replaced in `PORTS`."""
    if name in PORTS and value == str(names.RENDEZVOUS_PORT):
        return str(net.port)
    return value


@contextmanager
def reserved_port() -> Iterator[int]:
    """A TCP port of the loopback interface for programs that bind it while this lasts.

    Between the choice of a port and its first bind a pod imports its framework, which takes up to a
    minute on a busy machine. Nothing takes the port meanwhile: the kernel gives none of `RANGE` to a
    program that asks for any port, and a process that chooses a port here holds the UDP port of its
    number, so another one, of whichever user, chooses another port.
    """
    with socket.socket(type=socket.SOCK_DGRAM) as lock:
        for port in (*random.SystemRandom().sample(RANGE, TRIES), 0):
            if not _taken(port, "TCP") and _bound(lock, port):
                break
        yield int(lock.getsockname()[1])


def _bound(lock: socket.socket, port: int) -> bool:
    try:
        lock.bind((LOOPBACK, port))
    except OSError:
        return False
    return True


def ports_in_use(objects: Sequence[JSONObject]) -> tuple[Problem, ...]:
    """Container ports that the user declared and that something on this machine listens on.

    The rendezvous port is left out: it becomes a reserved one.
    """
    return tuple(
        Problem(
            f"{path}.ports",
            f"container {container['name']} wants a port that is in use on this machine",
            got=port["containerPort"],
            fix="declare another port, or end the program that listens on it",
            where=f"JobSet {jobset['metadata']['name']}",
        )
        for jobset in objects
        if jobset["kind"] == "JobSet"
        for above, pod in unsupported_fields.pod_specs(jobset)
        for path, container in unsupported_fields.containers_of(above, pod)
        for port in container.get("ports") or ()
        if port["containerPort"] != names.RENDEZVOUS_PORT
        and _taken(port["containerPort"], port.get("protocol", "TCP"))
    )


def _taken(port: int, protocol: str) -> bool:
    """Whether binding fails because of a listener; a port in TIME_WAIT is not taken."""
    if protocol not in _TYPES:
        return False
    with socket.socket(type=_TYPES[protocol]) as probe:
        if protocol == "TCP":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False
