"""One manager at a time with an API server of its own, in each process, and a namespace per test."""

import secrets
from collections.abc import Iterator

import pytest

from tests.cluster_programs import NewServer
from tests.conformance import implementations, managers
from tests.conformance.managers import RunningManager
from tests.conformance.places import Place
from tests.conformance.reference_passes import PASSES
from tests.conformance.rules import differences_of
from tests.conformance.webhooks import UNJUDGED

pytest_collection_modifyitems = PASSES.leave_out
pytest_runtest_makereport = PASSES.keep


@pytest.fixture(scope="package", params=implementations.IMPLEMENTATIONS, ids=lambda each: each.name)
def manager(
    request: pytest.FixtureRequest,
    own_api_server: NewServer,
) -> Iterator[RunningManager]:
    with managers.running(request.param, own_api_server) as running:
        yield running


def places(
    request: pytest.FixtureRequest, manager: RunningManager, *, judged: bool
) -> Iterator[Place]:
    """A namespace; its TrainJobs are deleted afterwards, so that nothing is done for them any more."""
    name = f"c-{secrets.token_hex(4)}"
    labels = {} if judged else {UNJUDGED: ""}
    namespace = {"metadata": {"name": name, "labels": labels}}
    assert manager.client.create("/api/v1/namespaces", namespace).message == ""
    place = Place(manager, name, differences_of(request.node))
    yield place
    manager.client.delete(place.path("TrainJob"))


@pytest.fixture
def place(request: pytest.FixtureRequest, manager: RunningManager) -> Iterator[Place]:
    """A namespace."""
    yield from places(request, manager, judged=True)


@pytest.fixture
def unjudged(request: pytest.FixtureRequest, manager: RunningManager) -> Iterator[Place]:
    """A namespace whose objects no webhook sees, as if there were none."""
    yield from places(request, manager, judged=False)
