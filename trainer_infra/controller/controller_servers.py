"""The servers of a running controller, which every replica has: webhooks, reports, metrics, probes.

`manager` enters `controller_servers` before it does anything else, and is ready when they are. One
certificate serves all of them. Probes and the queue are served in plain text, metrics as the configuration says.
"""

import logging
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from trainer_infra.controller import configuration, status_server
from trainer_infra.controller.admission_judgement import AdmissionJudge
from trainer_infra.controller.admission_webhooks import (
    AdmissionWebhooks,
    WebhookOptions,
    admission_webhooks,
)
from trainer_infra.controller.certificate_rotation import CertificateOptions
from trainer_infra.controller.configuration import STATUS_GATE, ControllerConfiguration
from trainer_infra.controller.controller_metrics import ControllerMetrics
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.controller.tls_options import configured_tls
from trainer_infra.controller.webhook_server import WebhookAddress
from trainer_infra.controller.work_queue import QueueState
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import KubeClient

Probe = Callable[[], str]
"""Why something is not ready; empty where it is."""

SHUTDOWN: Final = 5.0
"""Seconds for answers that are under way at the end."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServedParts:
    """What the servers show and ask."""

    judge: AdmissionJudge
    metrics: ControllerMetrics
    queue_state: Callable[[], QueueState]
    probes: Mapping[str, Probe]
    """What must be ready besides the servers, by name."""
    namespace: str
    """The controller's own."""
    reporting: KubeClient
    """What the status server asks the API server with."""


@asynccontextmanager
async def controller_servers(
    client: KubeClient, settings: ControllerConfiguration, parts: ServedParts
) -> AsyncGenerator[AdmissionWebhooks, None]:
    """Serve until the context ends; the webhooks, which know the certificate.

    Raises:
        NotAvailable: An address is another program's.
    """
    tls = configured_tls(settings.tls.to_wire())
    for warning in tls.warnings:
        _log.warning("%s", warning)
    certificates = settings.cert_management
    kept = CertificateOptions(
        parts.namespace, certificates.webhook_service_name, certificates.webhook_secret_name
    )
    options = WebhookOptions(
        WebhookAddress(settings.webhook.host, settings.webhook.port),
        tls.options,
        kept if certificates.enable else None,
        review_seconds=parts.metrics.review_seconds,
    )
    async with AsyncExitStack() as ending:
        webhooks = await ending.enter_async_context(
            admission_webhooks(client, parts.judge, options)
        )
        probes = {**parts.probes, "webhooks": lambda: _certificate_problem(webhooks)}
        if settings.has_gate(STATUS_GATE):
            reports = StatusServerSettings(port=settings.status_server.port)
            serving = status_server.serving(
                parts.reporting, webhooks.context, reports, parts.metrics.registry
            )
            await _listening(ending.enter_async_context(serving), ("", reports.port))
        await _serve_operations(ending, settings, parts, webhooks, probes)
        yield webhooks


async def _serve_operations(
    ending: AsyncExitStack,
    settings: ControllerConfiguration,
    parts: ServedParts,
    webhooks: AdmissionWebhooks,
    probes: Mapping[str, Probe],
) -> None:
    health, metrics = settings.health, settings.metrics
    address = configuration.address_of(health.health_probe_bind_address)
    if address is not None:
        paths = (health.liveness_endpoint_name, health.readiness_endpoint_name)
        start = start_probes(address, paths, probes, parts.queue_state)
        ending.push_async_callback((await _listening(start, address)).cleanup)
    address = configuration.address_of(metrics.bind_address)
    if address is not None:
        tls = webhooks.context if metrics.secure_serving else None
        start = start_metrics(address, parts.metrics.registry, tls)
        ending.push_async_callback((await _listening(start, address)).cleanup)


def _certificate_problem(webhooks: AdmissionWebhooks) -> str:
    return "" if webhooks.is_ready else "there is no certificate that the API server trusts"


async def _listening(start: Coroutine[Any, Any, Any], address: tuple[str, int]) -> Any:
    try:
        return await start
    except (OSError, socket.gaierror) as error:
        host, port = address
        raise NotAvailable(
            f"cannot listen on {host or '*'}:{port}: {error}; end the other program, or configure "
            "another address"
        ) from error


async def start_probes(
    address: tuple[str, int],
    paths: tuple[str, str],
    ready: Mapping[str, Probe],
    queue_state: Callable[[], QueueState],
) -> web.AppRunner:
    """Serve the liveness and the readiness probe at their paths, and `/debug/queue`.

    Raises:
        OSError: The address cannot be had.
    """

    async def is_alive(_request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def is_ready(_request: web.Request) -> web.Response:
        whys = {name: probe() for name, probe in ready.items()}
        lines = [f"[{'-' if why else '+'}]{name} {why or 'ok'}\n" for name, why in whys.items()]
        status = 503 if any(whys.values()) else 200
        return web.Response(status=status, text="".join(lines))

    async def queue(_request: web.Request) -> web.Response:
        return web.json_response(_queue(queue_state()))

    liveness, readiness = paths
    app = web.Application()
    app.router.add_get(f"/{liveness}", is_alive)
    app.router.add_get(f"/{readiness}", is_ready)
    app.router.add_get("/debug/queue", queue)
    return await _started(app, address, None)


async def start_metrics(
    address: tuple[str, int], registry: CollectorRegistry, tls: ssl.SSLContext | None
) -> web.AppRunner:
    """Serve `/metrics`, with TLS by HTTPS.

    Raises:
        OSError: The address cannot be had.
    """

    async def metrics(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        headers = {"Content-Type": content_type}
        return web.Response(body=encode(registry), headers=headers)

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    return await _started(app, address, tls)


async def _started(
    app: web.Application, address: tuple[str, int], tls: ssl.SSLContext | None
) -> web.AppRunner:
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN)
    await runner.setup()
    host, port = address
    await web.TCPSite(runner, host or None, port, ssl_context=tls).start()
    return runner


def _queue(state: QueueState) -> dict[str, object]:
    return {
        "ready": [_name(key) for key in state.ready],
        "running": [_name(key) for key in state.running],
        "later": {_name(key): round(seconds, 1) for key, seconds in state.later},
        "failures": {_name(key): count for key, count in state.failures},
    }


def _name(key: tuple[str, str]) -> str:
    return "/".join(key)
