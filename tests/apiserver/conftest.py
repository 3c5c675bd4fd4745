"""A connection to the API server that tests share."""

from collections.abc import Iterator

import pytest

from tools.cluster.apiserver import RunningServer
from tools.cluster.client import Client


@pytest.fixture(scope="package")
def server(api_server: RunningServer) -> Iterator[Client]:
    """As its administrator."""
    with Client(api_server.address) as client:
        yield client
