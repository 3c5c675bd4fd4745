"""The status server as any client on the network meets it: slow ones, broken ones, and its end."""

import asyncio
import gzip
import json
import logging
import socket
import ssl
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import override

from tests.controller.served_reports import Served, failure, served, until_closed
from tests.fake_api_server.memory import Memory
from tests.kube.certificate import self_signed
from trainer_infra.controller import status_server
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.progress import handler

PATH = handler.path_of("ns", "tj")
QUICK = StatusServerSettings(host="127.0.0.1", port=0, read=3.0, idle=1.5, shutdown=0.5)
HASTY = replace(QUICK, read=0.3)
"""For clients that get no answer at all, so that a busy machine changes nothing."""


class Offline(Memory):
    """An API server that nothing is to be asked of: what is asked is a mistake."""

    @override
    def within(self, seconds: float) -> KubeClient:
        raise RuntimeError("asked of the API server")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("server")
    with served(Offline(), folder, StatusServerSettings(host="127.0.0.1", port=0)) as started:
        yield started


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose patience is short."""
    with served(Offline(), tmp_path_factory.mktemp("quick"), QUICK) as started:
        yield started


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(Offline(), tmp_path_factory.mktemp("hasty"), HASTY) as started:
        yield started


def head(length: int, path: str = PATH) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n".encode()


def status_of(received: bytes) -> int:
    return int(received.split(b" ", 2)[1])


def test_a_body_that_never_comes_is_answered_and_the_connection_ends(quick: Served) -> None:
    received = quick.raw(head(10) + b"{")

    assert status_of(received) == 403
    assert b"Connection: close" in received or received.count(b"HTTP/1.1") == 1


def test_a_chunked_body_that_never_ends_is_answered(quick: Served) -> None:
    sent = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n"

    assert status_of(quick.raw(sent.encode())) == 403


@pytest.mark.parametrize("sent", [b"", b"P", b"POST / HTTP/1.1\r\nHost: a\r\n"])
def test_a_head_that_never_ends_ends_the_connection(hasty: Served, sent: bytes) -> None:
    assert hasty.raw(sent) == b""


def test_a_handshake_that_never_comes_ends_the_connection(hasty: Served) -> None:
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=60) as silent:
        assert until_closed(silent) == b""


def test_what_is_no_tls_gets_no_answer(hasty: Served) -> None:
    with socket.create_connection(("127.0.0.1", hasty.port), timeout=60) as plain:
        plain.sendall(head(0))
        assert b"HTTP/" not in until_closed(plain)


def test_an_idle_connection_ends(quick: Served) -> None:
    began = time.monotonic()
    received = quick.raw(head(2) + b"{}")

    assert received.count(b"HTTP/1.1 403") == 1
    assert time.monotonic() - began > QUICK.idle


def test_many_silent_clients_keep_no_other_from_reporting(quick: Served) -> None:
    silent = [quick.connect() for _ in range(50)]
    for each in silent:
        each.sendall(head(1000) + b"{")
    assert quick.request("POST", PATH, "{}").status == 403
    assert {status_of(until_closed(each)) for each in silent} == {403}
    for each in silent:
        each.close()


def test_of_too_many_connections_the_one_goes_that_was_used_least_recently(tmp_path: Path) -> None:
    few = StatusServerSettings(host="127.0.0.1", port=0, connections=3)
    with served(Offline(), tmp_path, few) as started, ExitStack() as closing:

        def connect() -> ssl.SSLSocket:
            made = closing.enter_context(started.connect())
            assert is_answered(made)
            return made

        def is_answered(connection: ssl.SSLSocket) -> bool:
            connection.sendall(head(2) + b"{}")
            return status_of(connection.recv(65536)) == 403

        first, second, third = (connect() for _ in range(3))
        assert is_answered(first)
        fourth = connect()
        assert until_closed(second) == b""
        assert all(map(is_answered, (first, third, fourth)))
        for each in (first, third):
            each.close()
        for _ in range(20):
            assert started.request("POST", PATH, "{}").status == 403


def test_a_body_that_is_too_long_by_its_length_is_not_waited_for(server: Served) -> None:
    with server.connect() as connection:
        connection.sendall(head(handler.LARGEST_BODY + 1))
        assert status_of(connection.recv(65536)) == 413


@pytest.mark.parametrize("length", ["-1", "x", "1, 2", "99999999999999999999999"])
def test_a_length_that_is_none_is_refused(server: Served, length: str) -> None:
    sent = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n".encode()

    assert status_of(server.raw(sent)) in {400, 413}


def test_a_compressed_body_is_not_unpacked(quick: Served) -> None:
    body = gzip.compress(b"x" * 10**6)
    assert quick.request("POST", PATH, body, {"Content-Encoding": "gzip"}).status == 403


@pytest.mark.parametrize(
    "path",
    [
        PATH.replace("ns", "n%73/x"),
        PATH.replace("/ns/", "/../"),
        PATH.replace("/tj/", "/%2e%2e/"),
        PATH.replace("/tj/", "/a%2Fb/"),
        f"/{PATH}",
        PATH.upper(),
    ],
)
def test_another_spelling_of_the_path_leads_nowhere(server: Served, path: str) -> None:
    token = "a.b.c"
    reply = server.request("POST", path, "{}", {"Authorization": f"Bearer {token}"})

    assert (reply.status, reply.body) in (
        failure(404, "NotFound", "Not found"),
        failure(403, "Forbidden", "Forbidden"),
    )


def test_a_mistake_of_ours_is_an_internal_error_without_a_traceback(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    claims = {
        "aud": [handler.audience_of("ns", "tj")],
        "exp": 1,
        "kubernetes.io": {"namespace": "ns", "pod": {}},
    }
    reply = server.request("POST", PATH, "{}", {"Authorization": f"Bearer {forged(claims)}"})

    assert (reply.status, reply.body) == failure(500, "InternalError", "Internal error")
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def forged(claims: object) -> str:
    """A token that says something, with a signature of nothing."""
    coded = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{coded}.c2ln"


def test_a_handshake_succeeds_for_as_long_as_the_server_answers(tmp_path: Path) -> None:
    with served(Offline(), tmp_path, QUICK) as started:
        started.connect().close()
    with pytest.raises(ConnectionRefusedError):
        started.connect()


def test_at_its_end_the_server_waits_for_a_request_under_way_and_no_longer(tmp_path: Path) -> None:
    with ExitStack() as closing:
        with served(Offline(), tmp_path, QUICK) as started:
            idle, slow = (closing.enter_context(started.connect()) for _ in range(2))
            slow.sendall(head(10) + b"{")
            idle.sendall(head(2) + b"{}")
            assert status_of(idle.recv(65536)) == 403
        assert until_closed(idle) == b""
        assert until_closed(slow)[:12] in {b"HTTP/1.1 403", b""}
        with pytest.raises(OSError, match="refused"):
            started.connect()


def test_a_certificate_that_is_swapped_is_shown_to_the_next_connection(tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def swap(name: str) -> None:
        pair.write_bytes(b"".join(self_signed(name)))
        tls.load_cert_chain(pair)

    async def shown(port: int) -> str:
        return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))

    async def check() -> set[str]:
        swap("first")
        async with status_server.serving(Offline(), tls, QUICK) as port:
            first = await shown(port)
            swap("second")
            return {first, await shown(port)}

    assert len(run_in_loop(check())) == 2


TEXTS = st.text(max_size=70)
STATUSES = st.fixed_dictionaries(
    {},
    optional={
        "progressPercentage": st.integers() | st.floats() | TEXTS | st.none(),
        "estimatedRemainingSeconds": st.integers() | st.booleans(),
        "lastUpdatedTime": TEXTS | st.datetimes().map(lambda each: f"{each.isoformat()}Z"),
        "metrics": st.lists(st.fixed_dictionaries({"name": TEXTS, "value": TEXTS}) | st.none()),
    },
)
BODIES = st.binary(max_size=300) | st.builds(
    lambda status: json.dumps({"trainerStatus": status}).encode(), STATUSES
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["POST", "GET", "PUT", "HEAD", "OPTIONS", "PURGE"]),
    st.sampled_from([PATH, "/", f"{PATH}?a=b", f"{PATH}/", "/%ff", "/a//b"]),
    st.text(
        st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60
    ),
    BODIES,
)
def test_a_request_of_any_kind_is_refused_in_the_protocols_own_words(
    server: Served, method: str, path: str, credential: str, body: bytes
) -> None:
    reply = server.request(method, path, body, {"Authorization": credential.encode("latin-1")})  # type: ignore[dict-item]

    assert reply.status in {403, 404}
    assert method == "HEAD" or reply.body["status"] == "Failure"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400))
def test_no_bytes_at_all_end_the_server(quick: Served, sent: bytes) -> None:
    received = quick.raw(sent + b"\r\n\r\n")

    assert received == b"" or status_of(received) in {400, 403, 404}
