"""A cluster beside the one of `make cluster`: these tests stop its API server."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import crds, down, kubectl, kwok, live, up
from from_source.cluster.client import Client
from from_source.cluster.components import port
from from_source.cluster.kube_apiserver import outside
from tests.chaos import train_jobs
from trainer_infra.api import crd

NAME = "check"
"""That of tests/cluster_tool, which run before these in `make e2e` and make it anew once."""
_NODES = 20
_CAPACITY = {"cpu": "96", "memory": "1Ti", "pods": "1000"}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Path]:
    """The kubeconfig: JobSet, our CRDs and runtimes, and nodes that kwok plays; gone afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(live.NAME, NAME)
        patch.delenv("KUBECONFIG", raising=False)
        try:
            made = up.ensure()
            with Client(outside(port())) as client:
                crds.install(client, tuple(crd.crd_definitions()))
            kwok.start()
            items = [*_nodes(), *train_jobs.runtimes()]
            given = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
            where = ("--kubeconfig", str(made))
            kubectl.run(*where, "apply", "--server-side", "--filename", "-", given=given)
            selected = f"pool={train_jobs.PREFIX}"
            wait = ("wait", "nodes", "--for=condition=Ready", "--timeout=300s")
            kubectl.run(*where, *wait, "--selector", selected)
            yield made
        finally:
            down.remove()


def _nodes() -> Iterator[dict[str, Any]]:
    for number in range(_NODES):
        yield kwok.node(f"chaos-{number:02}", {"pool": train_jobs.PREFIX}, _CAPACITY)


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Prints what a whole run has measured, as one line of JSON."""

    def line(**values: Any) -> None:
        with capsys.disabled():
            print(json.dumps(values))  # noqa: T201  what `make soak` shows

    return line
