"""Endpoint names become loopback addresses, and the rendezvous port a free one. Pure.

Called for every command, argument, env value and ConfigMap text of a pod. The port that our plugins
rendered is replaced where they put it: directly behind an endpoint name, and in `PORTS`.
What the user wrote himself (`--port=29500`) stays.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from trainer_infra import names

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
