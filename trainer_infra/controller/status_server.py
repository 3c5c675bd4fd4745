"""The status server: pods report over TLS to the manager, each replica for itself (reference behaviour 6).

The manager runs `serving`. What a request means is decided in `progress.handler`; here are the transport,
its limits, and what the handler needs to know who reports and where reports go:

    address -> RateLimit(PodTokens) -> TrainerStatusStore -> status.trainerStatus

Each limit is the reference's, besides those of `report_rate`. An error of the API server is answered with
500 and logged with the TrainJob's name; a request's token and body stand in no log.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry, Histogram

from trainer_infra.controller.pod_token import PodTokens, TokenVerdicts
from trainer_infra.controller.report_rate import Rate, RateLimit, ReportConnections, TokenBuckets
from trainer_infra.controller.trainer_status_store import TrainerStatusStore
from trainer_infra.controller.training_metrics import TrainingMetrics
from trainer_infra.errors import Bug, TrainerInfraError
from trainer_infra.kube.client import KubeClient
from trainer_infra.progress import handler
from trainer_infra.progress.handler import ReportRefusal, Request, Response

_LOG: Final = logging.getLogger(__name__)
_LARGEST: Final = handler.LARGEST_BODY + 1
"""Bytes of a body that are read: one more than is allowed shows that there are too many."""
_POD_RATE: Final = Rate(1.0, 10)
_TRAIN_JOB_RATE: Final = Rate(5.0, 50)
_REVIEW_RATE: Final = Rate(5.0, 50)


@dataclass(frozen=True, slots=True)
class StatusServerSettings:
    """Address and limits; times are seconds."""

    host: str = ""
    """Address to listen on; empty for all."""
    port: int = 10443
    """statusServer.port; 0 for any that is free."""
    read: float = 10.0
    """For a TLS handshake, for the head of a connection's first request, and for each body."""
    answer: float = 10.0
    """For an answer."""
    ask: float = 8.0
    """For each request to the API server."""
    connections: int = 1_000
    """Open at a time."""
    idle: float = 120.0
    """For the next request of a connection to begin."""
    shutdown: float = 5.0
    """For requests under way when the server ends."""
    pod_rate: Rate = _POD_RATE
    """Reports of one pod."""
    train_job_rate: Rate = _TRAIN_JOB_RATE
    """Reports of all pods of one TrainJob."""
    review_rate: Rate = _REVIEW_RATE
    """Tokens from one address that are not known yet."""
    verdicts: TokenVerdicts = field(default_factory=TokenVerdicts)
    """How tokens are remembered."""


@asynccontextmanager
async def serving(
    client: KubeClient,
    tls: ssl.SSLContext,
    settings: StatusServerSettings | None = None,
    registry: CollectorRegistry | None = None,
    training: TrainingMetrics | None = None,
) -> AsyncGenerator[int, None]:
    """Serve while the context is open; its value is the port.

    The client may create TokenReviews, read pods, Jobs, JobSets and TrainJobs, and patch the status of TrainJobs;
    the caller closes it, and gives it the limits of statusServer.qps and burst. TLS may get another certificate
    at any time. The registry gets the server's own metrics. `training` gets what is stored here; None where it
    learns that by watching TrainJobs, as it must where there are several replicas.
    """
    chosen = settings or StatusServerSettings()
    histogram = Histogram(
        "trainer_infra_status_answer_seconds",
        "Seconds from the first byte of a report's body to the answer, by the answer's status.",
        ("code",),
        registry=registry,
    )
    server = _Reports(
        chosen,
        PodTokens(client, TokenBuckets(chosen.review_rate), chosen.verdicts, chosen.ask),
        TrainerStatusStore(client, training, chosen.ask),
        histogram,
    )
    try:
        async with _listening(server, tls, chosen) as port:
            yield port
    finally:
        if registry is not None:
            registry.unregister(histogram)


@asynccontextmanager
async def _listening(
    reports: "_Reports", tls: ssl.SSLContext, settings: StatusServerSettings
) -> AsyncGenerator[int, None]:
    """The application on its port."""

    @web.middleware
    async def every_request(
        request: web.Request,
        handler: object,  # noqa: ARG001  aiohttp's name for it
    ) -> web.StreamResponse:
        return await reports.answer(request)

    quiet = logging.getLogger(f"{__name__}.http")
    quiet.setLevel(logging.CRITICAL)  # aiohttp quotes what is not HTTP, which may hold a token
    runner = web.AppRunner(
        web.Application(middlewares=[every_request]),
        access_log=None,
        logger=quiet,
        keepalive_timeout=settings.idle,
        shutdown_timeout=settings.shutdown,
        lingering_time=settings.read,
        auto_decompress=False,
    )
    await runner.setup()
    if runner.server is None:
        raise Bug("the status server's runner has not been set up")
    reports.connections = ReportConnections(runner.server, settings.read, settings.connections)
    try:
        listener = await asyncio.get_running_loop().create_server(
            reports.connections,
            settings.host or None,
            settings.port,
            ssl=tls,
            ssl_handshake_timeout=settings.read,
        )
        try:
            yield listener.sockets[0].getsockname()[1]
        finally:
            listener.close()
    finally:
        await runner.cleanup()


class _Reports:
    """Answers requests of one server."""

    def __init__(
        self,
        settings: StatusServerSettings,
        tokens: PodTokens,
        store: TrainerStatusStore,
        seconds: Histogram,
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._store = store
        self._seconds = seconds
        self._pods = TokenBuckets(settings.pod_rate)
        self._train_jobs = TokenBuckets(settings.train_job_rate)
        self.connections: ReportConnections | None = None
        """Those of its server, once it listens."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, whatever it is."""
        if self.connections is not None:
            self.connections.speaks(request.protocol)
        began = time.monotonic()
        path = request.rel_url.raw_path
        try:
            async with asyncio.timeout(self._settings.read):
                body = await _body(request)
        except (TimeoutError, web.RequestPayloadError, ConnectionError):
            body = b""  # answered as what it is: an invalid payload
        try:
            async with asyncio.timeout(self._settings.answer):
                found = await self._judged(request, path, body)
        except (TrainerInfraError, TimeoutError) as error:
            _LOG.warning(
                "a report was not taken: %s",
                str(error) or "no answer in time",
                extra={"path": path},
            )
            found = ReportRefusal(500, "InternalError", "Internal error").response()
        except Exception:  # noqa: BLE001  a pod gets an answer to every report
            _LOG.exception("a report was not taken, by a mistake of ours", extra={"path": path})
            found = ReportRefusal(500, "InternalError", "Internal error").response()
        self._seconds.labels(str(found.status)).observe(time.monotonic() - began)
        return web.Response(
            status=found.status,
            body=found.body,
            headers=found.headers,
            content_type="application/json",
        )

    async def _judged(self, request: web.Request, path: str, body: bytes) -> Response:
        headers = {name.lower(): request.headers[name] for name in request.headers}
        received = Request(request.method, path, headers, body)
        tokens = self._tokens.of_client(request.remote)
        limited = RateLimit(tokens, self._pods, self._train_jobs)
        return await handler.handle_request(received, limited, self._store)


async def _body(request: web.Request) -> bytes:
    """The body, at most one byte more than is allowed; none of one that says that it is too long."""
    if (request.content_length or 0) >= _LARGEST:
        return b""
    body = bytearray()
    while len(body) < _LARGEST:
        chunk = await request.content.read(_LARGEST - len(body))
        if not chunk:
            break
        body += chunk
    return bytes(body)
