"""The HTTPS server that the API server calls for admission.

It reads a request and writes the answer; `admission_judgement` judges. Paths and port: reference
behaviour 5 and 8.2.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from prometheus_client import Histogram

from trainer_infra.controller import admission_review
from trainer_infra.controller.admission_judgement import PATHS, AdmissionJudge
from trainer_infra.controller.admission_review import (
    AdmissionRequest,
    AdmissionResponse,
    MalformedReview,
)
from trainer_infra.errors import NotAvailable

PORT: Final = 9443
LARGEST_REVIEW: Final = 10 * 1024 * 1024
"""Bytes of a body: two objects of the 3 MiB that the API server takes, and some room."""
READ_TIMEOUT: Final = 10.0
"""Seconds for a whole request; the API server waits no longer for its answer."""
_KEPT: Final = 300.0
"""Seconds that an idle connection stays: longer than the API server's 90, so that it ends each one. A
server that ends one at the moment of a call makes that call fail."""
_SHUTDOWN: Final = 5.0
"""Seconds that answers in progress get when the server ends."""
_LOGGED: Final = 2000
"""Characters of a refusal that are logged."""
_JSON: Final = "application/json"
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """Where the server listens."""

    host: str = ""
    """Empty for every interface."""
    port: int = PORT
    """0 for a free one."""


@asynccontextmanager
async def serve_webhooks(
    judge: AdmissionJudge,
    context: ssl.SSLContext,
    address: WebhookAddress,
    seconds: Histogram | None = None,
) -> AsyncGenerator[int, None]:
    """Serve until the context ends; the port. `seconds` takes those of each review, by path and code.

    Raises:
        NotAvailable: The port is another program's.
    """
    runner = web.AppRunner(
        _admission_application(judge, seconds),
        access_log=None,
        keepalive_timeout=_KEPT,
        shutdown_timeout=_SHUTDOWN,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host or None, address.port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            raise NotAvailable(
                f"the webhooks cannot listen on port {address.port}: {error}; "
                "end the other program, or set webhook.port"
            ) from error
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _admission_application(judge: AdmissionJudge, seconds: Histogram | None) -> web.Application:
    """The four webhooks as an application."""
    if seconds is not None:
        # A panel, and an alert on an increase, need a series from the start.
        for path in PATHS:
            seconds.labels(path, 200)

    async def answer(request: web.Request) -> web.Response:
        began = time.monotonic()
        try:
            async with asyncio.timeout(READ_TIMEOUT):
                body = await request.read()
        except TimeoutError as error:
            raise web.HTTPRequestTimeout from error
        response, code = await _answer(judge, request.path, body)
        if seconds is not None:
            seconds.labels(request.path, code).observe(time.monotonic() - began)
        return response

    application = web.Application(client_max_size=LARGEST_REVIEW)
    application.add_routes([web.post(path, answer) for path in PATHS])
    return application


async def _answer(judge: AdmissionJudge, path: str, body: bytes) -> tuple[web.Response, int]:
    """The answer to a review, and the code in it; 400 to what is none."""
    try:
        request = admission_review.read_review(body)
    except MalformedReview as error:
        refusal = AdmissionResponse(False, 400, "BadRequest", str(error))
        text = admission_review.write_review("", refusal)
        return web.Response(status=400, body=text, content_type=_JSON), refusal.code
    response = await judge.response(path, request)
    if not response.allowed:
        _log_refusal(path, request, response)
    text = admission_review.write_review(request.uid, response)
    return web.Response(body=text, content_type=_JSON), response.code


def _log_refusal(path: str, request: AdmissionRequest, response: AdmissionResponse) -> None:
    metadata = request.value.get("metadata") if isinstance(request.value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    where = f"{request.namespace}/{name}" if request.namespace else str(name)
    why = response.message[:_LOGGED]
    _LOG.info("%s refused %s (%d): %s", path, where, response.code, why)
