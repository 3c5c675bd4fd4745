"""The progress endpoint of one run: `progress.handler` over TLS on the loopback interface.

Every pod of the trainer step has a token of its own, so that it is known which node reports.
"""

import asyncio
import hmac
import secrets
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from trainer_infra import names
from trainer_infra.keys import server_certificate
from trainer_infra.local import run_folder
from trainer_infra.local.network import LOOPBACK
from trainer_infra.progress import handler
from trainer_infra.progress.handler import Reporter, Request, Response

READ_TIMEOUT: Final = 10.0
"""Seconds for a whole request, as in the reference."""
LONGEST_HEAD: Final = 16 * 1024
LONGEST_DISCARDED: Final = 16 * 1024 * 1024
"""Bytes of a body that is too long which are read and thrown away."""
_REASONS: Final = {
    200: "OK",
    403: "Forbidden",
    404: "Not Found",
    413: "Request Entity Too Large",
    422: "Unprocessable Entity",
}


class ProgressEndpoint:
    """Receives reports of one run; it is the handler's authenticator and store."""

    def __init__(
        self,
        namespace: str,
        name: str,
        folder: Path,
        accepted: Callable[[str, Mapping[str, Any]], None],
    ) -> None:
        self.reports: dict[str, Mapping[str, Any]] = {}
        """The last accepted trainerStatus of each node, by pod."""
        self._job = (namespace, name)
        self._folder = folder
        self._accepted = accepted
        self._tokens: dict[str, str] = {}
        self._server: asyncio.Server | None = None
        self._port = 0

    async def start(self) -> None:
        """Listen, and write the certificate that pods trust."""
        made = server_certificate.make_certificate(LOOPBACK)
        private = self._folder / "server.pem"
        run_folder.write_private(private, made.server + made.key)
        run_folder.write_private(self._folder / "ca.crt", made.authority)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(private)
        self._server = await asyncio.start_server(
            self._serve, LOOPBACK, 0, ssl=context, limit=LONGEST_HEAD
        )
        self._port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    def variables(self, pod: str) -> dict[str, str]:
        """The env of a pod that may report; makes its token."""
        token = self._folder / f"{pod}.token"
        if pod not in self._tokens:
            self._tokens[pod] = secrets.token_hex(32)
            run_folder.write_private(token, self._tokens[pod].encode())
        return {
            names.PROGRESS_URL: f"https://{LOOPBACK}:{self._port}{handler.path_of(*self._job)}",
            names.PROGRESS_CA: str(self._folder / "ca.crt"),
            names.PROGRESS_TOKEN: str(token),
        }

    async def reporter(self, token: str, namespace: str, name: str) -> Reporter | None:
        """The pod of this token, compared in constant time."""
        if (namespace, name) != self._job:
            return None
        given = token.encode()
        matches = [
            pod for pod, own in self._tokens.items() if hmac.compare_digest(own.encode(), given)
        ]
        return Reporter(matches[0]) if matches else None

    async def replace(
        self, namespace: str, name: str, reporter: Reporter, status: Mapping[str, Any]
    ) -> bool:
        """Keep a report, and hand it on with its pod."""
        self.reports[reporter.pod] = status
        self._accepted(reporter.pod, status)
        return (namespace, name) == self._job

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(READ_TIMEOUT):
                request = await _request(reader)
                response = await handler.handle_request(request, self, self)
                writer.write(_head(response) + response.body)
                await writer.drain()
        with suppress(OSError):
            writer.close()


async def _request(reader: asyncio.StreamReader) -> Request:
    """Read one HTTP/1.1 request.

    Raises:
        ValueError: It is none; the connection is closed without an answer.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise ValueError("the head is too long") from error
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers.setdefault(name.strip().lower(), value.strip())
    body = await _body(reader, headers)
    return Request(method, target.partition("?")[0], headers, body)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    """The body, at most one byte more than is allowed: the handler refuses what is longer."""
    longest = handler.LARGEST_BODY + 1
    if headers.get("transfer-encoding", "").lower() != "chunked":
        length = int(headers.get("content-length") or 0)
        if length < longest:
            return await reader.readexactly(length)
        # A client that is still sending when the connection closes never sees the answer.
        await reader.readexactly(min(length, LONGEST_DISCARDED))
        return b""
    body = b""
    while len(body) < longest:
        size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        if size == 0:
            return body
        body += await reader.readexactly(min(size, longest))
        if size < longest:
            await reader.readexactly(2)
    return body


def _head(response: Response) -> bytes:
    return (
        f"HTTP/1.1 {response.status} {_REASONS.get(response.status, '')}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(response.body)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode()
