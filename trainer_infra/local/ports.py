"""Ports of this machine: a free one for the rendezvous, and those a user declared but are taken.

`ports_in_use` is called at preview (a warning there) and by `runs.submit` (an error there).
"""

import errno
import socket
from collections.abc import Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local import unsupported_fields
from trainer_infra.local.network import LOOPBACK

_TYPES: Final = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}


def free_port() -> int:
    """A port of the loopback interface that no process uses now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


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
