"""Requests of other accounts to a real API server, by impersonation; and a kubelet that has logs."""

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from typing_extensions import override

from from_source.cluster.kube_apiserver import Address
from tests.kube.certificate import self_signed

_APPLY = "application/apply-patch+yaml"
_TYPES = {"PATCH": _APPLY}
LOG = "epoch 1: loss 0.5\n"
"""What every container of the kubelet has said."""


@dataclass(frozen=True)
class Request:
    """One request as a client sends it."""

    method: str
    path: str
    body: dict[str, Any] | None = None

    @property
    def is_written(self) -> bool:
        return self.method != "GET"


@dataclass(frozen=True)
class Reply:
    status: int
    text: str

    @property
    def body(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.text)
        return loaded


@dataclass(frozen=True)
class Account:
    """A user of a server; the administrator where it has no name."""

    address: Address
    user: str = ""
    group: str = ""
    extra: dict[str, str] = field(default_factory=dict)

    def send(self, request: Request, *, dry_run: bool = False) -> Reply:
        """Send it; as a dry run it is judged as usual, and nothing is stored."""
        place = urlsplit(self.address.url)
        context = ssl.create_default_context(cafile=str(self.address.certificate))
        connection = http.client.HTTPSConnection(
            str(place.hostname), place.port, timeout=60, context=context
        )
        path = request.path
        if dry_run and request.is_written:
            path += ("&" if "?" in path else "?") + "dryRun=All"
        body = None if request.body is None else json.dumps(request.body)
        try:
            connection.request(request.method, path, body, self._headers(request))
            answer = connection.getresponse()
            return Reply(answer.status, answer.read().decode())
        finally:
            connection.close()

    def _headers(self, request: Request) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self.address.token}",
            "Content-Type": _TYPES.get(request.method, "application/json"),
            **self.extra,
        }
        if self.user:
            headers["Impersonate-User"] = self.user
        if self.group:
            headers["Impersonate-Group"] = self.group
        return headers


class _Logs(BaseHTTPRequestHandler):
    """A kubelet's answer to a request for a log."""

    def do_GET(self) -> None:
        found = self.path.startswith("/containerLogs/")
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(LOG.encode() if found else b"")

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def kubelet(folder: Path) -> Iterator[int]:
    """A server that has logs, as API servers ask kubelets for them; its port."""
    certificate, key = self_signed("kubelet")
    file = folder / "kubelet.pem"
    file.touch(mode=0o600)
    file.write_bytes(certificate + key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Logs) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()
