"""A cluster of these tests' own, beside the one of `make cluster`: some tests break it."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import down, kubectl, live, up
from tests.cluster_tool.namespace import Namespace

NAME = "check"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Path]:
    """Its kubeconfig; in this process all of from_source.cluster means it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(live.NAME, NAME)
        patch.delenv("KUBECONFIG", raising=False)
        yield up.ensure()
        down.remove()


@pytest.fixture
def namespace(cluster: Path) -> Iterator[Namespace]:
    """A namespace for one test."""
    made = Namespace(f"test-{secrets.token_hex(4)}", cluster, kubectl.program())
    made.run("create", "namespace", made.name)
    made.wait("serviceaccount/default", "create")
    yield made
    made.run("delete", "namespace", made.name, "--wait=false")
