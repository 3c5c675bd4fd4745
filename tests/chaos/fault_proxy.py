"""A real HTTP proxy between a controller and the API server, that does harm as it is told to.

It takes plain HTTP on loopback, so a controller whose clock is wrong may judge no certificate. It notes
each write that it passes on, and each Lease that was written, in one order for all proxies of a process.
"""

import asyncio
import itertools
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

Harm = Literal["conflict", "error", "silence", "error after", "silence after"]
"""What becomes of a write: refused with 409 or 500 or never answered, before or after the server did it."""
HARMS: Final[tuple[Harm, ...]] = ("conflict", "error", "silence", "error after", "silence after")
_HOP: Final = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "te"}
_CHANGED: Final = {"content-encoding", "transfer-encoding", "content-length", "connection", "date"}
_LONGEST: Final = 3600.0
_order = itertools.count()


@dataclass(slots=True)
class Faults:
    """How much harm is done; none by default."""

    writes: float = 0.0
    """Part of the writes that suffer one of `HARMS`."""
    reads: float = 0.0
    """Part of the reads whose connection is cut in the middle of the answer."""
    watch_lasts: float = 0.0
    """Seconds, on average, until a watch ends with 410 or is cut; 0 for never."""
    seed: int = 17


@dataclass(frozen=True, slots=True)
class Write:
    """A write that went to the API server."""

    number: int
    """Its place among the writes of all proxies: when it went, or for a Lease when it was answered."""
    proxy: str
    method: str
    path: str
    status: int
    """Of the answer for a Lease; 0 for others."""
    holder: str = ""
    """Who holds the Lease after it."""

    @property
    def is_lease(self) -> bool:
        return "/leases" in self.path


@dataclass(slots=True)
class FaultProxy:
    """One proxy."""

    name: str
    server: str
    token: str
    session: aiohttp.ClientSession
    faults: Faults
    writes: list[Write]
    """Those of all proxies that share the list."""
    url: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """How often each harm was done."""
    _random: random.Random = field(default_factory=random.Random)

    def kubeconfig(self, file: Path) -> Path:
        """A kubeconfig that leads through it."""
        named = {"name": "proxy"}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{**named, "cluster": {"server": self.url}}],
            "users": [{**named, "user": {}}],
            "contexts": [{**named, "context": {"cluster": "proxy", "user": "proxy"}}],
            "current-context": "proxy",
        }
        file.write_text(json.dumps(config))
        return file

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        if request.method in {"GET", "HEAD"}:
            return await self._read(request)
        return await self._write(request)

    async def _write(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        harm = self._drawn(request.path)
        if harm == "silence":
            await asyncio.sleep(_LONGEST)
        if harm == "conflict":
            return _status(409, "Conflict", "the object has been modified (by the proxy)")
        if harm == "error":
            return _status(500, "InternalError", "the proxy refuses")
        if "/leases" not in request.path:
            self.writes.append(Write(next(_order), self.name, request.method, request.path, 0))
        async with self._sent(request, body) as answer:
            content = await answer.read()
            if "/leases" in request.path and answer.status < 300:
                holder = json.loads(content)["spec"].get("holderIdentity", "")
                self.writes.append(
                    Write(
                        next(_order), self.name, request.method, request.path, answer.status, holder
                    )
                )
            if harm == "silence after":
                await asyncio.sleep(_LONGEST)
            if harm == "error after":
                return _status(500, "InternalError", "the proxy lost the answer")
            return web.Response(status=answer.status, body=content, headers=_kept(answer))

    def _drawn(self, path: str) -> Harm | None:
        """What this write suffers; one of a Lease suffers nothing."""
        if "/leases" in path or self._random.random() >= self.faults.writes:
            return None
        harm: Harm = self._random.choice(HARMS)
        self._count(harm)
        return harm

    async def _read(self, request: web.Request) -> web.StreamResponse:
        is_watch = request.query.get("watch") == "true"
        try:
            async with self._sent(request, b"") as answer:
                if is_watch and answer.status == web.HTTPOk.status_code:
                    return await self._watch(request, answer)
                content = await answer.read()
        except aiohttp.ClientError:
            _cut(request)
            raise
        response = web.Response(status=answer.status, body=content, headers=_kept(answer))
        if "/leases" not in request.path and self._random.random() < self.faults.reads:
            self._count("cut read")
            response.content_length = len(content) + 1
            await response.prepare(request)
            _cut(request)
        return response

    async def _watch(
        self, request: web.Request, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=_kept(answer))
        await response.prepare(request)
        lasts = self.faults.watch_lasts
        seconds = self._random.uniform(0.0, 2.0 * lasts) if lasts else _LONGEST
        try:
            async with asyncio.timeout(seconds):
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
        except TimeoutError:
            if self._random.random() < 0.5:
                self._count("410")
                gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
                await response.write(json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n")
            else:
                self._count("cut watch")
                _cut(request)
        except (aiohttp.ClientError, ConnectionError):
            _cut(request)
        return response

    def _sent(self, request: web.Request, body: bytes) -> Any:
        headers = {key: request.headers[key] for key in request.headers if key.lower() not in _HOP}
        return self.session.request(
            request.method,
            URL(f"{self.server}{request.raw_path}", encoded=True),
            data=body or None,
            headers={**headers, "Authorization": f"Bearer {self.token}"},
        )

    def _count(self, harm: str) -> None:
        self.counts[harm] = self.counts.get(harm, 0) + 1

    def seed(self) -> None:
        """Begin with the random numbers of the faults' seed."""
        self._random.seed(self.faults.seed)


@asynccontextmanager
async def proxied(
    kubeconfig: Path,
    faults: Faults | None = None,
    name: str = "proxy",
    writes: list[Write] | None = None,
) -> AsyncIterator[FaultProxy]:
    """A proxy to the server of a kubeconfig."""
    config = yaml.safe_load(await asyncio.to_thread(kubeconfig.read_text))
    (cluster,), (user,) = config["clusters"], config["users"]
    tls = ssl.create_default_context(cafile=cluster["cluster"]["certificate-authority"])
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
    connector = aiohttp.TCPConnector(limit=0, ssl=tls)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        made = FaultProxy(
            name,
            cluster["cluster"]["server"],
            user["user"]["token"],
            session,
            faults or Faults(),
            [] if writes is None else writes,
        )
        made.seed()
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", made.handle)
        runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        made.url = f"http://{host}:{port}"
        try:
            yield made
        finally:
            await runner.cleanup()


def _kept(answer: aiohttp.ClientResponse) -> dict[str, str]:
    return {key: answer.headers[key] for key in answer.headers if key.lower() not in _CHANGED}


def _status(code: int, reason: str, message: str) -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return web.json_response({**status, "reason": reason, "message": message}, status=code)


def _cut(request: web.Request) -> None:
    """End a connection without a word."""
    if request.transport is not None:
        request.transport.abort()
