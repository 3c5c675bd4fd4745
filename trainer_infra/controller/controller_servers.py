"""The servers of a running controller, which every replica has: webhooks, reports, metrics, probes.

`manager` enters `controller_servers` before it does anything else, and is ready when they are. One
certificate serves all of them.
"""

import logging
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra.controller import configuration, operations_server, status_server
from trainer_infra.controller.admission_judgement import AdmissionJudge
from trainer_infra.controller.admission_webhooks import (
    AdmissionWebhooks,
    WebhookOptions,
    admission_webhooks,
)
from trainer_infra.controller.certificate_rotation import CertificateOptions
from trainer_infra.controller.configuration import STATUS_GATE, ControllerConfiguration
from trainer_infra.controller.controller_metrics import ControllerMetrics
from trainer_infra.controller.operations_server import Probe
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.controller.tls_options import configured_tls
from trainer_infra.controller.webhook_server import WebhookAddress
from trainer_infra.controller.work_queue import QueueState
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import KubeClient

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

    Args:
        client: of the cluster.
        settings: addresses and what is on.
        parts: what is served.

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
        start = operations_server.start_probes(address, paths, probes, parts.queue_state)
        ending.push_async_callback((await _listening(start, address)).cleanup)
    address = configuration.address_of(metrics.bind_address)
    if address is not None:
        tls = webhooks.context if metrics.secure_serving else None
        start = operations_server.start_metrics(address, parts.metrics.registry, tls)
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
