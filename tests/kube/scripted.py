"""An HTTP server that answers what a test says: a server in trouble, or the log of a container."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from aiohttp import web

from trainer_infra.kube.client import KubeClient

JSON = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Say:
    """One answer."""

    status: int = 200
    body: JSON | str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: float = 0.0
    """Seconds before it."""
    cut: bool = False
    """Whether the connection is lost after the body."""
    content_type: str = ""
    """Of a text; else as an API server has it: of a watch JSON, of anything else plain text."""


def status(code: int, reason: str, message: str) -> JSON:
    """A Status as a server says it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }


def config(server: str, token: str = "t", **cluster: str) -> JSON:
    """A kubeconfig of that server."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }


class Scripted:
    """Answers in order; the last answer is given again and again."""

    def __init__(self, answers: tuple[Say, ...]) -> None:
        self.url = ""
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        """Method, path and query of each request."""
        self.most_at_once = 0
        """Of requests that waited for an answer."""
        self._waiting = 0
        self._answers = list(answers)
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)

    @classmethod
    async def started(cls, *answers: Say) -> Self:
        made = cls(answers)
        await made._runner.setup()
        await web.TCPSite(made._runner, "127.0.0.1", 0).start()
        made.url = f"http://127.0.0.1:{made._runner.addresses[0][1]}"
        return made

    async def close(self) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path, dict(request.query)))
        say = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self._waiting += 1
        self.most_at_once = max(self.most_at_once, self._waiting)
        await asyncio.sleep(say.after)
        self._waiting -= 1
        if isinstance(say.body, dict):
            return web.json_response(say.body, status=say.status, headers=say.headers)
        response = web.StreamResponse(status=say.status, headers=say.headers)
        response.content_type = say.content_type or _content_type(request)
        await response.prepare(request)
        await response.write(say.body.encode())
        if say.cut:
            assert request.transport is not None
            request.transport.close()
        return response


def _content_type(request: web.Request) -> str:
    return "application/json" if "watch" in request.query else "text/plain"


async def gathered(lines: AsyncIterator[str]) -> list[str]:
    """All of them."""
    return [line async for line in lines]


Speak: TypeAlias = Callable[..., tuple[KubeClient, Scripted]]
"""Starts a server that gives these answers, and a client of it."""
