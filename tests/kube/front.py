"""A proxy before a real API server: it signs requests, and loses answers as a test says."""

import base64
import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import aiohttp
from aiohttp import web

from from_source.cluster.kube_apiserver import Address


class Front:
    """Forwards whole requests and answers over plain HTTP."""

    def __init__(self, address: Address) -> None:
        self.url = ""
        self.statuses: list[int] = []
        """What the server answered, in order."""
        self.lose = 0
        """How many answers to requests that change something are lost from now on."""
        self.instead: Callable[[web.Request], web.Response | None] = lambda _: None
        """What is answered in place of the server; None for its own answer."""
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        """Method, path and query of each request."""
        self.old_version = 0
        """Where set, the version that tokens of further pages are of."""
        self._address = address
        self._tls = ssl.create_default_context(cafile=str(address.certificate))
        self._session = aiohttp.ClientSession(auto_decompress=False)
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._forward)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)

    @classmethod
    async def started(cls, address: Address) -> Self:
        """A proxy on a free port."""
        made = cls(address)
        await made._runner.setup()
        site = web.TCPSite(made._runner, "127.0.0.1", 0)
        await site.start()
        made.url = f"http://127.0.0.1:{made._runner.addresses[0][1]}"
        return made

    async def close(self) -> None:
        await self._session.close()
        await self._runner.cleanup()

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path, dict(request.query)))
        if (other := self.instead(request)) is not None:
            return other
        query = dict(request.query)
        if self.old_version and "continue" in query:
            query["continue"] = self._aged(query["continue"])
        headers = {
            "Authorization": f"Bearer {self._address.token}",
            "Content-Type": request.headers.get("Content-Type", ""),
        }
        async with self._session.request(
            request.method,
            f"{self._address.url}{request.path}",
            params=query,
            data=await request.read(),
            headers=headers,
            ssl=self._tls,
        ) as answer:
            if "watch" in query or "follow" in query:
                return await _streamed(request, answer)
            content = await answer.read()
        self.statuses.append(answer.status)
        if self.lose and request.method != "GET":
            self.lose -= 1
            assert request.transport is not None
            request.transport.close()
        kept = {key: answer.headers[key] for key in KEPT if key in answer.headers}
        return web.Response(status=answer.status, body=content, headers=kept)

    def _aged(self, token: str) -> str:
        """A token of another version, which the server has forgotten."""
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        changed = json.dumps({**content, "rv": self.old_version}).encode()
        return base64.urlsafe_b64encode(changed).decode().rstrip("=")


async def _streamed(request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
    """The answer, piece by piece as it comes."""
    response = web.StreamResponse(status=answer.status)
    response.content_type = answer.content_type
    await response.prepare(request)
    with suppress(ConnectionResetError):
        async for chunk in answer.content.iter_any():
            await response.write(chunk)
    return response


KEPT = ("Content-Type", "Content-Encoding", "Date", "Retry-After")
