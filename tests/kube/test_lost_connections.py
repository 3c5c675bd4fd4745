"""What a real server's clients do when connections break, the server restarts or is gone."""

import asyncio
import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest

from tests.kube import objects
from tests.kube.changes import seen
from tests.kube.front import Front
from tests.kube.real_server import RealServer
from tests.kube.scripted import config
from trainer_infra.errors import NotAvailable
from trainer_infra.kube import http
from trainer_infra.kube.client import PAGE, KubeClient, ObjectSelection
from trainer_infra.kube.loop import iterate_in_loop, run_in_loop
from trainer_infra.kube.refusals import Exists, NotFound, Unauthorized, Unreachable
from trainer_infra.kube.request_retry import Patience
from trainer_infra.kube.resource import CONFIG_MAP, SECRET


@pytest.fixture
def client(real: KubeClient) -> KubeClient:
    return real


@contextmanager
def away(server: RealServer, seconds: float) -> Iterator[None]:
    """The server is killed now and comes back after so many seconds."""
    server.stop_serving()
    try:
        yield
    finally:
        time.sleep(seconds)
        server.serve_again()


def test_a_watch_goes_on_after_its_connection_was_cut(
    client: KubeClient, server: RealServer, namespace: str
) -> None:
    since = run_in_loop(client.list(ObjectSelection(SECRET, namespace))).resource_version
    changes = iterate_in_loop(client.watch(ObjectSelection(SECRET, namespace), since))
    run_in_loop(client.create(objects.secret(namespace, "a"), manager="m"))
    assert seen(changes, 1) == [("ADDED", "a")]
    for name in ("b", "c", "d"):
        assert server.relay.cut() > 0
        run_in_loop(client.create(objects.secret(namespace, name), manager="m"))
    assert seen(changes, 3) == [("ADDED", "b"), ("ADDED", "c"), ("ADDED", "d")]
    changes.close()


def test_a_watch_and_applies_go_on_across_a_restart_of_the_server(
    client: KubeClient, server: RealServer, namespace: str
) -> None:
    """The server is another one then: it knows the user by another token."""
    since = run_in_loop(client.list(ObjectSelection(SECRET, namespace))).resource_version
    changes = iterate_in_loop(client.watch(ObjectSelection(SECRET, namespace), since))
    run_in_loop(client.create(objects.secret(namespace, "first"), manager="m"))
    assert seen(changes, 1) == [("ADDED", "first")]
    names = [f"n{number:02}" for number in range(20)]

    async def all_applied() -> list[str]:
        made = (client.apply(objects.secret(namespace, name), manager="m") for name in names)
        return [each["metadata"]["name"] for each in await asyncio.gather(*made)]

    with away(server, 1.0):
        found: list[str] = []
        applying = threading.Thread(target=lambda: found.extend(run_in_loop(all_applied())))
        applying.start()
    assert sorted(name for _, name in seen(changes, 20)) == names
    applying.join()
    assert found == names
    changes.close()


def test_a_server_that_was_there_is_waited_for_and_then_given_up(server: RealServer) -> None:
    client = run_in_loop(
        http.connect_client(str(server.kubeconfig), None, Patience(give_up_after=3.0))
    )
    with pytest.raises(NotFound):
        run_in_loop(client.get(CONFIG_MAP, "none", "default"))
    with away(server, 0.0):
        began = time.monotonic()
        with pytest.raises(Unreachable) as refused:
            run_in_loop(client.get(CONFIG_MAP, "none", "default"))
        took = time.monotonic() - began
    run_in_loop(client.close())

    assert 2.5 < took < 60.0
    assert client.server in str(refused.value)
    assert "to read ConfigMap default/none, after " in str(refused.value)
    assert isinstance(refused.value, NotAvailable)


def test_a_server_that_never_answered_is_given_up_sooner() -> None:
    text = json.dumps(config("https://127.0.0.1:1"))
    client = run_in_loop(http.connect_client(text, None, Patience(first_contact=1.0)))
    began = time.monotonic()
    with pytest.raises(Unreachable, match=r"https://127\.0\.0\.1:1"):
        run_in_loop(client.get(CONFIG_MAP, "none", "default"))
    run_in_loop(client.close())

    assert time.monotonic() - began < 9.0


def test_a_server_with_another_authority_is_not_trusted(server: RealServer) -> None:
    text = json.dumps(config(f"https://127.0.0.1:{server.relay.port}", token="t"))
    client = run_in_loop(http.connect_client(text))
    with pytest.raises(Unreachable, match="certificate verify failed"):
        run_in_loop(client.get(CONFIG_MAP, "none", "default"))
    run_in_loop(client.close())


def test_a_token_that_nobody_knows_is_refused(server: RealServer) -> None:
    authority = server.address.certificate.read_bytes()
    cluster = {"certificate-authority-data": base64.b64encode(authority).decode()}
    url = f"https://127.0.0.1:{server.relay.port}"
    client = run_in_loop(http.connect_client(json.dumps(config(url, token="wrong", **cluster))))
    with pytest.raises(Unauthorized) as refused:
        run_in_loop(client.get(CONFIG_MAP, "none", "default"))
    run_in_loop(client.close())

    assert "wrong" not in str(refused.value)


@pytest.fixture
def front(server: RealServer) -> Iterator[Front]:
    """A proxy before the server that changes requests, or loses answers, as a test says."""
    found = run_in_loop(Front.started(server.address))
    yield found
    run_in_loop(found.close())


def behind(front: Front) -> KubeClient:
    return run_in_loop(http.connect_client(json.dumps(config(front.url))))


def test_a_list_that_expires_half_way_begins_anew(
    real: KubeClient, server: RealServer, front: Front, namespace: str
) -> None:
    names = [f"n{number:04}" for number in range(PAGE + 10)]

    async def all_made() -> None:
        made = (real.create(objects.secret(namespace, name), manager="m") for name in names)
        await asyncio.gather(*made)

    run_in_loop(all_made())
    old = run_in_loop(real.list(ObjectSelection(SECRET, namespace))).resource_version
    compact(server, int(old) - 5)
    front.old_version = 1
    client = behind(front)
    found = run_in_loop(client.list(ObjectSelection(SECRET, namespace))).items
    run_in_loop(client.close())

    assert [each["metadata"]["name"] for each in found] == names
    assert front.statuses == [200, 410, 200]


def compact(server: RealServer, revision: int) -> None:
    """Make etcd forget what was before a revision."""
    address = f"unix:{server.folder / 'etcd.sock:0'}"
    number = bytearray()
    while revision:
        number.append(revision % 128 | (128 if revision >= 128 else 0))
        revision //= 128
    with grpc.insecure_channel(address) as channel:
        call: Any = channel.unary_unary("/etcdserverpb.KV/Compact")
        call(b"\x08" + bytes(number) + b"\x10\x01", timeout=10)


def test_a_create_whose_answer_was_lost_is_found_to_be_ours(
    front: Front, namespace: str, client: KubeClient
) -> None:
    front.lose = 1
    mine = behind(front)
    value = objects.config_map(namespace, data={"x": "1"})
    made = run_in_loop(mine.create(value, manager="m"))
    run_in_loop(mine.close())

    assert front.statuses == [200, 201, 409, 200]
    assert run_in_loop(client.get(CONFIG_MAP, "a", namespace)) == made


@pytest.mark.parametrize("theirs", ["another manager", "another value", "older"])
def test_a_create_whose_answer_was_lost_does_not_take_what_is_somebody_elses(
    front: Front, namespace: str, client: KubeClient, theirs: str
) -> None:
    value = objects.config_map(namespace, data={"x": "1"})
    data = {"x": "2" if theirs == "another value" else "1"}
    manager = "other" if theirs == "another manager" else "m"
    run_in_loop(client.create(objects.config_map(namespace, data=data), manager=manager))
    if theirs == "older":
        time.sleep(3.1)
    front.lose = 1
    mine = behind(front)
    with pytest.raises(Exists):
        run_in_loop(mine.create(value, manager="m"))
    run_in_loop(mine.close())


def test_a_delete_whose_answer_was_lost_has_deleted(
    front: Front, namespace: str, client: KubeClient
) -> None:
    run_in_loop(client.create(objects.config_map(namespace), manager="m"))
    front.lose = 1
    mine = behind(front)
    run_in_loop(mine.delete(CONFIG_MAP, "a", namespace))
    run_in_loop(mine.close())

    assert front.statuses == [200, 404]
