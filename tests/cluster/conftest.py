"""A real API server for the tests of this folder, and a namespace of it for each test."""

import itertools
from collections.abc import Iterator

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from tests.cluster import trainer
from tests.cluster.submissions import Job
from tests.cluster.trainer import ReconciledCluster
from tests.cluster.world import Collector, World, ok
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.runs import ClusterRuns

_COUNT = itertools.count()


@pytest.fixture(scope="package")
def cluster(api_server: RunningServer) -> Iterator[Cluster]:
    made = Cluster(str(api_server.kubeconfig), None)
    yield made
    made.close()


@pytest.fixture
def world(api_server: RunningServer) -> Iterator[World]:
    """A new namespace with what its controller would put there."""
    name = f"team-{next(_COUNT)}"
    with Client(api_server.address) as client:
        ok(client.create("/api/v1/namespaces", {"metadata": {"name": name}}))
        account = {"metadata": {"name": "default"}}
        ok(client.create(f"/api/v1/namespaces/{name}/serviceaccounts", account))
        yield World(client, name)


@pytest.fixture
def job(world: World) -> Job:
    return Job(world.namespace)


@pytest.fixture(params=["provider", "controller"])
def either(
    request: pytest.FixtureRequest,
    api_server: RunningServer,
    cluster: Cluster,
    world: World,
    job: Job,
) -> Iterator[ClusterRuns]:
    """Each engine in turn: the test's `job` is composed as it composes jobs."""
    job.engine = request.param
    if request.param == "provider":
        yield cluster
        return
    trainer.install_runtimes(world.client)
    made = ReconciledCluster(str(api_server.kubeconfig), world)
    yield made
    made.close()


@pytest.fixture
def collector(api_server: RunningServer, world: World) -> Iterator[None]:
    """Deletion in the foreground ends, as with a garbage collector."""
    with Client(api_server.address) as client:
        running = Collector(client, world.namespace)
        running.start()
        yield
        running.end()
