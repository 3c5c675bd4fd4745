"""A manager as a process beside an API server, with its webhooks and its status server.

What a cluster does for its pod is done here: its service account's token is at its usual place, and
the certificate that it puts into its Secret appears as files, as the kubelet mounts them.
"""

import base64
import json
import os
import shutil
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from from_source.cluster.client import Client
from from_source.cluster.process import Process
from tests.apiserver import trainer_webhooks
from tests.cluster_programs import NewServer
from tests.conformance import webhooks
from tests.conformance.implementations import UPSTREAM, Implementation

JSON = dict[str, Any]

_CORE: Final = f"/api/v1/namespaces/{webhooks.NAMESPACE}"
_SECRET: Final = f"{_CORE}/secrets/{webhooks.SECRET}"
_PAIR: Final = ("tls.crt", "tls.key")
_ACCOUNT: Final = Path("secrets/kubernetes.io/serviceaccount")
"""In `/run`, where every pod has its token."""


@dataclass(frozen=True, slots=True)
class RunningManager:
    """A manager that serves, and its server."""

    implementation: Implementation
    client: Client
    """As administrator."""
    status_port: int
    """Of the status server on this machine."""
    status_authority: Path
    """What vouches for the status server."""
    token_key: Path
    """The key that the server signs tokens with."""
    log: Path
    """The manager's log."""


@contextmanager
def running(
    implementation: Implementation,
    own_api_server: NewServer,
    *,
    reports: bool = True,
) -> Iterator[RunningManager]:
    """A server of its own with the manager beside it; all webhooks answer.

    Args:
        implementation: the manager.
        own_api_server: what starts its server.
        reports: whether the feature gate of the status server is on.

    Raises:
        NotAvailable: A part cannot be built or does not come up.
    """
    with ExitStack() as ending:
        address, kubeconfig = ending.enter_context(own_api_server())
        client = ending.enter_context(Client(address))
        webhook, health, status = _free_ports(3)
        webhooks.register(client, webhook)
        folder = kubeconfig.parent / "manager"
        folder.mkdir()
        configuration = folder / "configuration.yaml"
        configuration.write_text(json.dumps(_configuration(webhook, health, status, reports)))
        command = implementation.command(configuration, kubeconfig)
        if implementation is UPSTREAM:
            command = _as_in_a_pod(command, folder, client)
        process = Process(command, folder)
        ending.callback(process.kill)
        process.wait_until_ready(lambda: _serves(client, folder, health))
        process.wait_until_ready(
            lambda: trainer_webhooks.judges(client) and (_listens(status) or not reports)
        )
        authority = folder / "ca.crt"
        authority.write_bytes(_secret(client)["ca.crt"])
        key = kubeconfig.with_name("service-accounts.key")
        yield RunningManager(implementation, client, status, authority, key, process.log)


def _configuration(webhook: int, health: int, status: int, reports: bool) -> JSON:
    """The reference's configuration file; requests to the server are not held back."""
    unlimited = {"qps": 10_000, "burst": 10_000}
    return {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "webhook": {"host": "127.0.0.1", "port": webhook},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "clientConnection": unlimited,
        "statusServer": {"port": status, **unlimited},
        "featureGates": {"TrainJobStatus": reports},
    }


def _as_in_a_pod(command: tuple[str, ...], folder: Path, client: Client) -> tuple[str, ...]:
    """The command in a mount namespace of its own, with the files of a pod at their places."""
    account = folder / "run" / _ACCOUNT
    account.mkdir(parents=True)
    (folder / "webhook" / "serving-certs").mkdir(parents=True)
    client.create(f"{_CORE}/serviceaccounts", {"metadata": {"name": webhooks.SERVICE}})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = client.create(f"{_CORE}/serviceaccounts/{webhooks.SERVICE}/token", asked)
    (account / "token").write_text(answer.body["status"]["token"])
    (account / "namespace").write_text(webhooks.NAMESPACE)
    places = {folder / "webhook": "/tmp/k8s-webhook-server", folder / "run": "/run"}
    mounts = " && ".join(f"mount --bind {ours} {theirs}" for ours, theirs in places.items())
    inside = f'mkdir -p /tmp/k8s-webhook-server && {mounts} && exec "$0" "$@"'
    as_root = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", "--mount", *as_root, "sh", "-c", inside, *command)


def _serves(client: Client, folder: Path, health: int) -> bool:
    """Whether the manager says that it is ready; its certificate is mounted as soon as it is made."""
    made = _secret(client)
    mounted = folder / "webhook" / "serving-certs"
    if mounted.exists() and set(_PAIR) <= set(made):
        for name in _PAIR if not (mounted / _PAIR[-1]).exists() else ():
            (mounted / f"{name}.new").write_bytes(made[name])
            shutil.move(mounted / f"{name}.new", mounted / name)
    return "ca.crt" in made and _is_ready(health)


def _secret(client: Client) -> dict[str, bytes]:
    data = client.get(_SECRET).body.get("data") or {}
    return {name: base64.b64decode(value) for name, value in data.items()}


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        taken = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in taken]


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            return True
    except OSError:
        return False
