"""One real API server for each process that runs the tests of this folder, and clients of it."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from tests.fake_api_server.memory import Memory
from tests.kube.real_server import RealServer, restartable_api_server
from tests.kube.scripted import Say, Scripted, Speak, config
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.request_retry import Patience

__all__ = ["restartable_api_server"]
HISTORY = 20


@pytest.fixture(scope="package")
def server(
    restartable_api_server: Callable[[], AbstractContextManager[RealServer]],
) -> Iterator[RealServer]:
    with restartable_api_server() as running:
        yield running


@pytest.fixture
def real(server: RealServer) -> Iterator[KubeClient]:
    """A client of the real server, whose watches bring a bookmark every few seconds."""
    client = loop.run_in_loop(
        http.connect_client(str(server.kubeconfig), None, Patience(watch_for=4))
    )
    yield client
    loop.run_in_loop(client.close())


@pytest.fixture
def speak() -> Iterator[Speak]:
    """A client of a server that gives these answers."""
    made: list[tuple[KubeClient, Scripted]] = []

    def start(*answers: Say, give_up_after: float = 10.0) -> tuple[KubeClient, Scripted]:
        server = loop.run_in_loop(Scripted.started(*answers))
        text = json.dumps(config(server.url))
        client = loop.run_in_loop(
            http.connect_client(text, None, Patience(give_up_after=give_up_after))
        )
        made.append((client, server))
        return made[-1]

    yield start
    for client, server in made:
        loop.run_in_loop(client.close())
        loop.run_in_loop(server.close())


@pytest.fixture
def memory() -> Memory:
    return Memory(history=HISTORY, bookmarks=0.2)


@pytest.fixture
def forget(client: KubeClient, request: pytest.FixtureRequest) -> Callable[[], None]:
    """Makes the server forget which changes there were: a restart, or many others."""
    if isinstance(client, Memory):
        return lambda: _overflow(client)
    server: RealServer = request.getfixturevalue("server")
    return server.restart


def _overflow(client: Memory) -> None:
    for number in range(HISTORY + 1):
        value = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}"}}
        loop.run_in_loop(client.apply(value, manager="test"))


@pytest.fixture(params=["memory", pytest.param("real", marks=pytest.mark.verify)])
def client(request: pytest.FixtureRequest) -> KubeClient:
    """Each client that the contract is for."""
    found: KubeClient = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def namespace(client: KubeClient) -> str:
    """A namespace of the test's own."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    loop.run_in_loop(client.apply(value, manager="test"))
    return name
