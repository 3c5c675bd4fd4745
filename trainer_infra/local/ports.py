"""Ports of this machine: one reserved for the rendezvous, and those a user declared but are taken.

`ports_in_use` is called at preview (a warning there) and by `runs.submit` (an error there).
"""

import errno
import random
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local import unsupported_fields
from trainer_infra.local.network import LOOPBACK

RANGE: Final = range(20_000, 32_768)
"""Ports that no system gives to a program which asks for any: Linux begins at 32768, macOS at 49152."""
TRIES: Final = 1000
_TYPES: Final = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}


def reserve_port() -> socket.socket:
    """A port of the loopback interface for the pods of one attempt, which keep it until this socket is closed.

    Between the choice of a port and the first bind of it a pod imports its framework, which takes up to
    a minute on a busy machine. Nothing takes the port meanwhile: the kernel gives none of `RANGE` to a
    program that asks for any port, and each supervisor holds the UDP port of the number that it chose,
    so another supervisor, of whichever user, chooses another one. The pods bind the TCP port.
    """
    for port in random.SystemRandom().sample(RANGE, TRIES):
        with suppress(OSError):
            if not _taken(port, "TCP"):
                return _bound(port)
    return _bound(0)


def _bound(port: int) -> socket.socket:
    reserved = socket.socket(type=socket.SOCK_DGRAM)
    try:
        reserved.bind((LOOPBACK, port))
    except OSError:
        reserved.close()
        raise
    return reserved


def ports_in_use(objects: Sequence[JSONObject]) -> tuple[Problem, ...]:
    """Container ports that the user declared and that something on this machine listens on.

    The rendezvous port is left out: it becomes a free one.
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
