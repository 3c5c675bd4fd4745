"""A stack whose cluster is a real API server with Kueue's CRDs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.kueue_crds import install_kueue_crds
from tests.deploy.project import Stack
from tests.platform.conftest import kubectl_on_path
from tools.cluster import apiserver

__all__ = ["kubectl_on_path"]


@pytest.fixture(scope="package")
def queue_kubeconfig() -> Iterator[Path]:
    with apiserver.running() as (address, file):
        install_kueue_crds(address)
        yield file


@pytest.fixture
def queue_cluster(stack: Stack, queue_kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    monkeypatch.setenv("KUBECONFIG", str(queue_kubeconfig))
    return Stack(stack.folder, {**stack.env, "KUBECONFIG": str(queue_kubeconfig)})
