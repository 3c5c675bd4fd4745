"""The server of the webhooks over TLS: certificates that change, and what is not a review."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client import Histogram

from tests.controller import pem
from tests.controller.reviews import TORCH, review, trainjob
from tests.fake_api_server.memory import Memory
from trainer_infra.controller.admission_judgement import (
    MUTATE_TRAIN_JOB,
    PATHS,
    VALIDATE_TRAIN_JOB,
    AdmissionJudge,
)
from trainer_infra.controller.admission_webhooks import CertificateFiles
from trainer_infra.controller.controller_metrics import ControllerMetrics
from trainer_infra.controller.runtime_lookup import ClusterLookups
from trainer_infra.controller.serving_certificate import CertificatePeriods, due_certificates
from trainer_infra.controller.tls_options import ChangingTLSContext, TLSOptions
from trainer_infra.controller.webhook_server import (
    LARGEST_REVIEW,
    WebhookAddress,
    serve_webhooks,
)
from trainer_infra.controller.work_queue import WorkQueue
from trainer_infra.errors import NotAvailable

JSON = dict[str, Any]
NAMES = ("localhost",)


def made() -> dict[str, bytes]:
    """Certificates for this machine."""
    return due_certificates({}, NAMES, datetime.now(UTC), CertificatePeriods(), is_settled=False)


class Served:
    """A server, and a client that makes a connection for each request."""

    def __init__(self, tls: ChangingTLSContext, port: int) -> None:
        self.tls = tls
        self.url = f"https://localhost:{port}"

    async def post(
        self, bundle: bytes, path: str = VALIDATE_TRAIN_JOB, body: bytes | None = None
    ) -> tuple[int, JSON]:
        connector = aiohttp.TCPConnector(ssl=pem.context(bundle), force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            data = io.BytesIO(review(trainjob()) if body is None else body)
            async with session.post(self.url + path, data=data) as answer:
                text = await answer.text()
                return answer.status, json.loads(text) if text.startswith("{") else {}


@asynccontextmanager
async def served(
    options: TLSOptions | None = None, seconds: Histogram | None = None
) -> AsyncGenerator[Served, None]:
    client = Memory()
    await client.create(TORCH, manager="test")
    tls = ChangingTLSContext(options or TLSOptions())
    judge = AdmissionJudge(ClusterLookups(client))
    address = WebhookAddress("127.0.0.1", 0)
    async with serve_webhooks(judge, tls.context, address, seconds) as port:
        yield Served(tls, port)


def test_a_certificate_changes_while_the_server_serves() -> None:
    """Also from an RSA key to another type; a connection that is open stays open."""

    async def story() -> None:
        first, second, third = made(), pem.of_the_reference(NAMES), made()
        async with served() as server:
            with pytest.raises(aiohttp.ClientError):
                await server.post(first["ca.crt"])
            assert not server.tls.is_ready
            for certificate in (first, second, third):
                assert server.tls.show(certificate["tls.crt"], certificate["tls.key"])
                assert not server.tls.show(certificate["tls.crt"], certificate["tls.key"])
                assert (await server.post(certificate["ca.crt"]))[0] == 200
                for other in (first, second, third):
                    if other is not certificate:
                        with pytest.raises(aiohttp.ClientConnectorCertificateError):
                            await server.post(other["ca.crt"])

    asyncio.run(story())


def test_an_open_connection_outlives_its_certificate() -> None:
    async def story() -> None:
        first, second = made(), made()
        async with served() as server:
            server.tls.show(first["tls.crt"], first["tls.key"])
            connector = aiohttp.TCPConnector(ssl=pem.context(first["ca.crt"]), limit=1)
            async with aiohttp.ClientSession(connector=connector) as session:
                for _ in range(2):
                    url = server.url + MUTATE_TRAIN_JOB
                    async with session.post(url, data=review(trainjob())) as answer:
                        assert (await answer.json())["response"]["allowed"]
                    server.tls.show(second["tls.crt"], second["tls.key"])

    asyncio.run(story())


def test_what_cannot_be_shown_leaves_the_certificate_as_it_was() -> None:
    async def story() -> None:
        good, other = made(), made()
        async with served() as server:
            server.tls.show(good["tls.crt"], good["tls.key"])
            for certificate, key in (
                (good["tls.crt"], other["tls.key"]),
                (b"garbage", good["tls.key"]),
                (good["tls.crt"], b""),
            ):
                with pytest.raises(NotAvailable, match="cannot be used"):
                    server.tls.show(certificate, key)
            assert (await server.post(good["ca.crt"]))[0] == 200

    asyncio.run(story())


def test_an_older_tls_than_allowed_is_refused() -> None:
    async def story() -> None:
        options = TLSOptions(minimum_version=ssl.TLSVersion.TLSv1_3)
        certificate = made()
        async with served(options) as server:
            server.tls.show(certificate["tls.crt"], certificate["tls.key"])
            context = pem.context(certificate["ca.crt"])
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            async with aiohttp.ClientSession() as session:
                with pytest.raises(aiohttp.ClientConnectorError):
                    await session.post(server.url, ssl=context)
            assert (await server.post(certificate["ca.crt"]))[0] == 200

    asyncio.run(story())


def test_what_is_no_review_is_a_bad_request_and_what_is_too_large_is_not_read() -> None:
    async def story() -> None:
        certificate = made()
        bundle = certificate["ca.crt"]
        async with served() as server:
            server.tls.show(certificate["tls.crt"], certificate["tls.key"])
            for path in PATHS:
                status, answer = await server.post(bundle, path, b"no JSON")
                assert (status, answer["response"]["allowed"]) == (400, False)
                assert "the body is not JSON" in answer["response"]["status"]["message"]
            large = trainjob({"trainer": {"args": ["x" * (1 << 20)] * 4}})
            status, answer = await server.post(bundle, body=review(large, large))
            assert (status, answer["response"]["allowed"]) == (200, True)
            assert (await server.post(bundle, body=b" " * (LARGEST_REVIEW + 1)))[0] == 413
            assert (await server.post(bundle, "/other"))[0] == 404

    asyncio.run(story())


def test_each_review_is_measured_by_path_and_code() -> None:
    metrics = ControllerMetrics(WorkQueue().state)

    async def story() -> None:
        certificate = made()
        async with served(seconds=metrics.review_seconds) as server:
            server.tls.show(certificate["tls.crt"], certificate["tls.key"])
            refused = review(trainjob({"runtimeRef": {"name": "gone"}}))
            for body in (None, None, refused, b"none"):
                await server.post(certificate["ca.crt"], body=body)

    asyncio.run(story())

    def count(code: int) -> float | None:
        labels = {"webhook": VALIDATE_TRAIN_JOB, "code": str(code)}
        return metrics.registry.get_sample_value("trainer_controller_webhook_seconds_count", labels)

    assert {code: count(code) for code in (200, 403, 400)} == {200: 2.0, 403: 1.0, 400: 1.0}


def test_files_are_shown_when_they_change(tmp_path: Path) -> None:
    async def story() -> None:
        async with served() as server:
            files = CertificateFiles(server.tls, tmp_path)
            with pytest.raises(NotAvailable, match=r"tls\.crt.*certManagement\.enable"):
                await files.step()
            for certificate in (made(), pem.of_the_reference(NAMES)):
                (tmp_path / "tls.crt").write_bytes(certificate["tls.crt"])
                if files.is_ready:
                    with pytest.raises(NotAvailable, match="cannot be used"):
                        await files.step()
                (tmp_path / "tls.key").write_bytes(certificate["tls.key"])
                (tmp_path / "ca.crt").write_bytes(certificate["ca.crt"])
                await files.step()
                assert files.is_ready
                assert files.authorities == certificate["ca.crt"]
                assert (await server.post(files.authorities))[0] == 200

    asyncio.run(story())


def test_a_port_that_is_taken_is_said() -> None:
    async def story() -> None:
        async with served() as server:
            port = int(server.url.rpartition(":")[2])
            address = WebhookAddress("127.0.0.1", port)
            judge = AdmissionJudge(ClusterLookups(Memory()))
            with pytest.raises(NotAvailable, match=rf"port {port}.*webhook\.port"):
                async with serve_webhooks(judge, server.tls.context, address):
                    pass

    asyncio.run(story())
