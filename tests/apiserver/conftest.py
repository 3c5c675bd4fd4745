"""A connection to the API server that tests share."""

from collections.abc import Iterator

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from tests.apiserver.queue_server import kueue_definitions, queue_kinds, queue_server
from tests.kube.real_server import restartable_api_server

__all__ = ["kueue_definitions", "queue_kinds", "queue_server", "restartable_api_server"]


@pytest.fixture(scope="package")
def server(api_server: RunningServer) -> Iterator[Client]:
    """As its administrator."""
    with Client(api_server.address) as client:
        yield client
