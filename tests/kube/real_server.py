"""A real API server behind a relay, which can be restarted on its etcd."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from from_source.cluster import crds, kube_apiserver, prepared_store
from from_source.cluster.client import Client
from from_source.cluster.kube_apiserver import Address
from tests.kube.relay import Relay


class RealServer:
    """etcd and kube-apiserver with the CRDs; clients connect through `relay`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        definitions = crds.all_definitions()
        self._etcd, self.etcd_address = prepared_store.start(folder, definitions)
        self._server, self.address = kube_apiserver.start(folder, self.etcd_address)
        self.relay = Relay(_port(self.address))
        self._write_kubeconfig()
        with Client(self.address) as client:
            crds.wait_until_served(client, definitions)

    def restart(self) -> None:
        """Another server on the same etcd, which remembers no changes."""
        self.stop_serving()
        self.serve_again()

    def stop_serving(self) -> None:
        """Kill the server; its objects stay in etcd."""
        self.relay.accepts = False
        self._server.kill()
        self.relay.cut()

    def serve_again(self) -> None:
        """Start another one on the same etcd; it knows the user by another token."""
        self._server, self.address = kube_apiserver.start(self.folder, self.etcd_address)
        self._write_kubeconfig()
        self.relay.target = _port(self.address)
        self.relay.accepts = True

    def close(self) -> None:
        self.relay.close()
        self._server.kill()
        self._etcd.kill()

    def _write_kubeconfig(self) -> None:
        cluster = {
            "server": f"https://127.0.0.1:{self.relay.port}",
            "certificate-authority": "certificates/apiserver.crt",
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": self.address.token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps(config))


def _port(address: Address) -> int:
    return urlsplit(address.url).port or 0


@contextmanager
def running() -> Iterator[RealServer]:
    """A server of one's own; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="trainer-infra-kube-") as folder:
        server = RealServer(Path(folder))
        try:
            yield server
        finally:
            server.close()


@pytest.fixture(scope="session")
def restartable_api_server() -> Callable[[], AbstractContextManager[RealServer]]:
    """Starts a server that no other test sees, and that can be stopped and started again."""
    return running
