"""What the kubelet, Prometheus and people ask a running controller: probes, metrics, the queue.

The manager starts it. Probes and the queue are served in plain text, metrics as the configuration says.
"""

import ssl
from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from trainer_infra.controller.work_queue import QueueState

Probe = Callable[[], str]
"""Why something is not ready; empty where it is."""
SHUTDOWN: Final = 5.0
"""Seconds for answers that are under way at the end."""


async def start_probes(
    address: tuple[str, int],
    paths: tuple[str, str],
    ready: Mapping[str, Probe],
    queue_state: Callable[[], QueueState],
) -> web.AppRunner:
    """Serve the probes, and `/debug/queue`.

    Args:
        address: host and port.
        paths: of the liveness and of the readiness probe.
        ready: what must be ready, by name.
        queue_state: what the work queue holds.

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
    """Serve `/metrics`.

    Args:
        address: host and port.
        registry: of the metrics.
        tls: for HTTPS; None for HTTP.

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
