"""A stack whose cluster is a real API server with Kueue's CRDs."""

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.apiserver.queue_server import kueue_definitions, queue_kinds, queue_server
from tests.deploy.project import Stack

__all__ = ["kueue_definitions", "queue_kinds", "queue_server"]


@pytest.fixture
def queue_cluster(
    stack: Stack, queue_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> Stack:
    kubeconfig = str(queue_server.kubeconfig)
    monkeypatch.setenv("KUBECONFIG", kubeconfig)
    return Stack(stack.folder, {**stack.env, "KUBECONFIG": kubeconfig})
