"""One API server for the tests of this folder, in each process that runs them."""

from collections.abc import Iterator

import pytest

from tools.cluster import apiserver
from tools.cluster.client import Client


@pytest.fixture(scope="package")
def server() -> Iterator[Client]:
    """A connection to a server with our CRDs, JobSet's and the PodGroups'."""
    with apiserver.running() as (address, _), Client(address) as client:
        yield client
