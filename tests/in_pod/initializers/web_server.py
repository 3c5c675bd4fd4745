"""A web server of the tests, which answers what a function says, and notes what it was asked."""

import hashlib
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from typing_extensions import override

from trainer_infra.keys.server_certificate import make_certificate


@dataclass
class Answer:
    """To a request."""

    status: int = 200
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False
    """Whether the connection breaks in the middle of the content."""


class Headers(dict[str, str]):
    """Of a request; names have no case, and are as most write them."""

    def __init__(self, headers: Message) -> None:
        super().__init__({name.title(): value for name, value in headers.items()})


class WebServer:
    """One that runs from `with` on.

    Args:
        answer: of a path and headers.
        folder: for certificates, in which `authority.pem` is the one to trust; None to do without TLS.
    """

    def __init__(
        self, answer: Callable[[str, Mapping[str, str]], Answer], folder: Path | None = None
    ) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[bytes] = []
        requests, bodies = self.requests, self.bodies

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                requests.append((self.path, Headers(self.headers)))
                if length := int(self.headers.get("Content-Length", 0)):
                    bodies.append(self.rfile.read(length))
                found = answer(self.path, Headers(self.headers))
                self.send_response(found.status)
                for name, value in found.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(found.content)))
                self.end_headers()
                if self.command == "HEAD":
                    return
                if found.is_cut:
                    self.wfile.write(found.content[: len(found.content) // 2])
                    self.close_connection = True
                else:
                    self.wfile.write(found.content)

            do_HEAD = do_POST = do_GET  # noqa: N815  the same

            @override
            def log_message(self, *_: object) -> None:
                """Nothing: pytest shows what is wrong."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http{'s' if folder else ''}://127.0.0.1:{self.server.server_port}"
        if folder:
            self._speak_tls(folder)

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _speak_tls(self, folder: Path) -> None:
        certificate = make_certificate("127.0.0.1")
        (folder / "authority.pem").write_bytes(certificate.authority)
        (folder / "server.pem").write_bytes(certificate.server + certificate.key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        # The handshake is the handler's thread's to make, not the one that accepts.
        self.server.socket = context.wrap_socket(
            self.server.socket, server_side=True, do_handshake_on_connect=False
        )


def range_answer(content: bytes, headers: Mapping[str, str]) -> Answer:
    """Part of a content, as the header asks."""
    tag = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
    found = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("Range", ""))
    if found is None:
        return Answer(200, content, tag)
    start, end = int(found[1]), min(int(found[2] or len(content)), len(content) - 1)
    if start >= len(content):
        return Answer(416, headers={"Content-Range": f"bytes */{len(content)}"})
    span = {**tag, "Content-Range": f"bytes {start}-{end}/{len(content)}"}
    return Answer(206, content[start : end + 1], span)
