"""A status server on loopback, and requests to it as any client may send them."""

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from tests.kube.certificate import self_signed
from trainer_infra.controller import status_server
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.controller.training_metrics import TrainingMetrics
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.progress import handler

TIME = "2026-01-02T03:04:05Z"


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.content)
        return loaded


@dataclass(frozen=True)
class Served:
    """One server, in the background loop."""

    port: int
    certificate: Path
    registry: CollectorRegistry

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def connect(self) -> ssl.SSLSocket:
        """A connection that has said nothing yet."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return self.context().wrap_socket(plain, server_hostname="127.0.0.1")

    def raw(self, sent: bytes) -> bytes:
        """What comes until the server ends the connection."""
        with self.connect() as connection:
            connection.sendall(sent)
            return until_closed(connection)

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=self.context()
        )
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    @contextmanager
    def kept(self) -> Iterator[Callable[..., Reply]]:
        """`request` over a connection that is kept, and made anew where the server ends it."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=60, context=self.context()
        )

        def request(method: str, path: str, body: Any, headers: Mapping[str, str]) -> Reply:
            try:
                connection.request(method, path, body, dict(headers))
                answer = connection.getresponse()
            except ConnectionError:
                connection.close()
                connection.request(method, path, body, dict(headers))
                answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())

        try:
            yield request
        finally:
            connection.close()

    def post(
        self, namespace: str, name: str, token: str, status: Mapping[str, Any] | None = None
    ) -> Reply:
        """A report with a token."""
        given = {"progressPercentage": 1} if status is None else status
        body = json.dumps({"trainerStatus": {"lastUpdatedTime": TIME, **given}})
        headers = {"Authorization": f"Bearer {token}"}
        return self.request("POST", handler.path_of(namespace, name), body, headers)


def until_closed(connection: socket.socket) -> bytes:
    received = b""
    with suppress(ConnectionError, ssl.SSLError):
        while chunk := connection.recv(65536):
            received += chunk
    return received


def failure(code: int, reason: str, message: str) -> tuple[int, dict[str, Any]]:
    """Status and body of a refusal."""
    body = {"metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}
    return code, body


@contextmanager
def served(
    client: KubeClient,
    folder: Path,
    settings: StatusServerSettings,
    training: TrainingMetrics | None = None,
) -> Iterator[Served]:
    """A server on a free port, with a certificate that is made for it."""
    certificate, key = self_signed("status-server")
    file = folder / "status-server.crt"
    file.write_bytes(certificate)
    pair = folder / "status-server.pem"
    pair.write_bytes(certificate + key)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pair)
    registry = CollectorRegistry()
    stack = AsyncExitStack()
    context = status_server.serving(client, tls, settings, registry, training)
    port = run_in_loop(stack.enter_async_context(context))
    try:
        yield Served(port, file, registry)
    finally:
        run_in_loop(stack.aclose())
