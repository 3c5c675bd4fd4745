"""Engine `controller` on a real API server, with an imitation of Kubeflow Trainer's controller."""

from collections.abc import Iterator

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster import trainer
from tests.cluster.submissions import Job
from tests.cluster.trainer import ReconciledCluster
from tests.cluster.world import World


@pytest.fixture
def controlled(
    api_server: RunningServer, world: World, collector: None
) -> Iterator[ReconciledCluster]:
    assert collector is None
    trainer.install_runtimes(world.client)
    made = ReconciledCluster(str(api_server.kubeconfig), world)
    yield made
    made.close()


@pytest.fixture
def job(world: World) -> Job:
    return Job(world.namespace, engine="controller")
