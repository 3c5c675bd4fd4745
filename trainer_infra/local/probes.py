"""startupProbe, readinessProbe and livenessProbe of a container, on loopback.

Fields and defaults are those of Kubernetes' Probe; exec, tcpSocket and httpGet are supported,
`support.unsupported_here` refuses grpc.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.local.container import ContainerProcess
from trainer_infra.local.network import LOOPBACK

OK: Final = range(200, 400)


async def watch_probes(container: ContainerProcess, changed: Callable[[bool], None]) -> None:
    """Tell whether a container is ready whenever that changes, as long as it runs.

    Ends the container when its startup or liveness probe failed often enough.
    """
    spec = container.setup.spec
    await container.started.wait()
    startup, readiness = spec.get("startupProbe"), spec.get("readinessProbe")
    if startup and not await _passes(container, startup):
        container.kill()
        return
    async with asyncio.TaskGroup() as group:
        if spec.get("livenessProbe"):
            group.create_task(_keep_alive(container, spec["livenessProbe"]))
        if readiness:
            group.create_task(_readiness(container, readiness, changed))
        else:
            changed(True)


async def _passes(container: ContainerProcess, probe: JSONObject) -> bool:
    """Whether a startup probe succeeds before it failed too often."""
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    for _ in range(probe.get("failureThreshold", 3)):
        if await _once(container, probe):
            return True
        await asyncio.sleep(probe.get("periodSeconds", 10))
    return False


async def _readiness(
    container: ContainerProcess, probe: JSONObject, changed: Callable[[bool], None]
) -> None:
    ready, row = False, 0
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    while container.running:
        success = await _once(container, probe)
        row = row + 1 if success is not ready else 0
        limit = "failureThreshold" if ready else "successThreshold"
        if row >= probe.get(limit, 3 if ready else 1):
            ready, row = success, 0
            changed(ready)
        await asyncio.sleep(probe.get("periodSeconds", 10))


async def _keep_alive(container: ContainerProcess, probe: JSONObject) -> None:
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    failures = 0
    while container.running:
        failures = 0 if await _once(container, probe) else failures + 1
        if failures >= probe.get("failureThreshold", 3):
            container.kill()
            return
        await asyncio.sleep(probe.get("periodSeconds", 10))


async def _once(container: ContainerProcess, probe: JSONObject) -> bool:
    """Whether the probe succeeds now, within its timeout."""
    try:
        async with asyncio.timeout(probe.get("timeoutSeconds", 1)):
            return await _attempt(container, probe)
    except (OSError, TimeoutError):
        return False


async def _attempt(container: ContainerProcess, probe: JSONObject) -> bool:
    if "exec" in probe:
        return await container.execute(list(probe["exec"]["command"])) == 0
    if "tcpSocket" in probe:
        port = _port(container.setup.spec, probe["tcpSocket"]["port"])
        _, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.close()
        return True
    return await _http(container.setup.spec, probe["httpGet"])


async def _http(spec: JSONObject, request: JSONObject) -> bool:
    """Whether a GET answers with 200 to 399; certificates are not checked, as the kubelet does."""
    context = None
    if request.get("scheme", "HTTP").upper() == "HTTPS":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(
        LOOPBACK, _port(spec, request["port"]), ssl=context
    )
    try:
        headers = {"Host": LOOPBACK, "Connection": "close"}
        headers |= {each["name"]: each["value"] for each in request.get("httpHeaders") or ()}
        lines = [f"GET {request.get('path') or '/'} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        answer = (await reader.readline()).split()
        return len(answer) > 1 and answer[1].isdigit() and int(answer[1]) in OK
    finally:
        writer.close()


def _port(spec: JSONObject, port: int | str) -> int:
    """A port number, or the number of the container port of that name."""
    named = {each.get("name"): each["containerPort"] for each in spec.get("ports") or ()}
    return int(named.get(port, port))
