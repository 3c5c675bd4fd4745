"""Fixtures of a real API server for one module of tests, and of a client of it."""

from collections.abc import Iterator

import pytest

from tests.kube import real_server
from tests.kube.real_server import RealServer
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    with real_server.running() as running:
        yield running


@pytest.fixture
def client(server: RealServer) -> Iterator[KubeClient]:
    made = loop.run_in_loop(http.connect_client(str(server.kubeconfig)))
    yield made
    loop.run_in_loop(made.close())
