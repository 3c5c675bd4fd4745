"""A client of the API server that tests share."""

from collections.abc import Iterator

import pytest

from from_source.cluster.apiserver import RunningServer
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient


@pytest.fixture
def client(api_server: RunningServer) -> Iterator[KubeClient]:
    made = loop.run_in_loop(http.connect_client(str(api_server.kubeconfig)))
    yield made
    loop.run_in_loop(made.close())
