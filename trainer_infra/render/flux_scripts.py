"""The two scripts of a Flux job, as texts: `flux/init.sh` and `flux/entrypoint.sh` with their values.

Pure, but for reading the two files of the package once. What they do: reference behaviour 3.7.
"""

import json
import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "flux"
_CONFIG: Final = "/mnt/flux/config"


@dataclass(frozen=True, slots=True)
class FluxCluster:
    """The Flux instance that a job's pods form."""

    job: str
    """Name of the Job, which its pods' host names begin with."""
    nodes: int
    """How many pods there are."""
    domain: str
    """Behind a pod's host name, to make it one that the other pods can resolve."""
    device: str
    """Network device that the brokers listen on."""
    queue_policy: str
    """Fluxion's queue policy, for example `fcfs`."""

    @property
    def hosts(self) -> str:
        """The host names, in Flux's short form."""
        return f"{self.job}-[{_span(self.nodes)}]"


@dataclass(frozen=True, slots=True)
class Tasks:
    """How the command is run."""

    per_node: int
    """Processes per node."""
    gpus_per_node: int
    """GPUs per node; 0 for none."""
    like_reference: bool = False
    """Whether the command is words with blanks between, and a task asks for all GPUs of the node;
    otherwise the command is quoted for a shell, and a task asks for its share (Q18)."""


def init(cluster: FluxCluster) -> str:
    """The script of the init container."""
    return _script("init.sh", hosts=cluster.hosts, broker_toml=broker_toml(cluster))


def entrypoint(cluster: FluxCluster, tasks: Tasks) -> str:
    """The script of the nodes' containers; the command is its first argument."""
    resources = f"--cores={_span(tasks.per_node)}"
    if tasks.gpus_per_node:
        resources += f" --gpu={_span(tasks.gpus_per_node)}"
    return _script(
        "entrypoint.sh",
        main_host=f"{cluster.job}-0",
        resources=resources,
        flags=" ".join((f"-N {cluster.nodes} -n {cluster.nodes * tasks.per_node}", *_gpus(tasks))),
        quoted="no" if tasks.like_reference else "yes",
    )


def broker_toml(cluster: FluxCluster) -> str:
    """The configuration of the brokers."""
    bind = json.dumps(f"tcp://{cluster.device}:%p")
    connect = json.dumps(f"tcp://%h.{cluster.domain}:%p")
    return f"""\
[access]
allow-guest-user = true
allow-root-owner = true

[resource]
path = "{_CONFIG}/etc/flux/system/R"

[bootstrap]
curve_cert = "{_CONFIG}/etc/curve/curve.cert"
default_port = 8050
default_bind = {bind}
default_connect = {connect}
hosts = [{{ host = "{cluster.hosts}" }}]

[archive]
dbpath = "{_CONFIG}/var/lib/flux/job-archive.sqlite"
period = "1m"
busytimeout = "50s"

[sched-fluxion-qmanager]
queue-policy = {json.dumps(cluster.queue_policy)}"""


def _gpus(tasks: Tasks) -> tuple[str, ...]:
    """Flux's `-g` is per task. GPUs that cannot be shared out evenly are given to all tasks."""
    if not tasks.gpus_per_node or not tasks.per_node:
        return ()
    if tasks.like_reference:
        return (f"-g {tasks.gpus_per_node}",)
    share, rest = divmod(tasks.gpus_per_node, tasks.per_node)
    return ("--exclusive",) if rest else (f"-g {share}",)


def _span(count: int) -> str:
    """Indices from 0, as Flux writes a range."""
    return f"0-{count - 1}" if count > 1 else "0"


def _script(name: str, **values: str) -> str:
    assigned = "".join(f"{key}={shlex.quote(value)}\n" for key, value in values.items())
    return f"#!/bin/bash\n{assigned}\n{_text(name)}"


@cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
