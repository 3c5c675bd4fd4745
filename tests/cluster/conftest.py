"""A real API server for the tests of this folder, and a namespace of it for each test."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster import trainer
from tests.cluster.submissions import Job
from tests.cluster.trainer import ReconciledCluster
from tests.cluster.world import Collector, World, ok
from tools.cluster import apiserver
from tools.cluster.client import Client
from tools.cluster.kube_apiserver import Address
from trainer_infra.cluster.provider.runs import Cluster
from trainer_infra.cluster.runs import ClusterRuns

_COUNT = itertools.count()


@dataclass
class Server:
    """The API server."""

    address: Address
    kubeconfig: Path


@pytest.fixture(scope="package")
def server() -> Iterator[Server]:
    with apiserver.running() as (address, kubeconfig):
        yield Server(address, kubeconfig)


@pytest.fixture(scope="package")
def cluster(server: Server) -> Iterator[Cluster]:
    made = Cluster(str(server.kubeconfig), None)
    yield made
    made.close()


@pytest.fixture
def world(server: Server) -> Iterator[World]:
    """A new namespace with what its controller would put there."""
    name = f"team-{next(_COUNT)}"
    with Client(server.address) as client:
        ok(client.create("/api/v1/namespaces", {"metadata": {"name": name}}))
        account = {"metadata": {"name": "default"}}
        ok(client.create(f"/api/v1/namespaces/{name}/serviceaccounts", account))
        yield World(client, name)


@pytest.fixture
def job(world: World) -> Job:
    return Job(world.namespace)


@pytest.fixture(params=["provider", "controller"])
def either(
    request: pytest.FixtureRequest, server: Server, cluster: Cluster, world: World, job: Job
) -> Iterator[ClusterRuns]:
    """Each engine in turn: the test's `job` is composed as it composes jobs."""
    job.engine = request.param
    if request.param == "provider":
        yield cluster
        return
    trainer.install_runtimes(world.client)
    made = ReconciledCluster(str(server.kubeconfig), world)
    yield made
    made.close()


@pytest.fixture
def collector(server: Server, world: World) -> Iterator[None]:
    """Deletion in the foreground ends, as with a garbage collector."""
    with Client(server.address) as client:
        running = Collector(client, world.namespace)
        running.start()
        yield
        running.end()
