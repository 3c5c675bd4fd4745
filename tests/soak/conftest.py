"""What the long tests share: a cluster with Kueue and a pool of kwok's nodes, and a stack that makes queues."""

import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from from_source.cluster import kubectl, kueue, kwok, up
from tests.deploy.project import Stack, new_cli_stack
from tests.e2e.cluster import Namespace
from tests.soak import pool
from tests.soak.pool import Team


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    """The cluster that `make cluster` makes."""
    return up.ensure()


@pytest.fixture(scope="session")
def nodes(kubeconfig: Path) -> Iterator[Path]:
    """The cluster while Kueue and the pool are in it."""
    kueue.install(kubeconfig)
    kwok.start()
    items = {"apiVersion": "v1", "kind": "List", "items": list(pool.nodes())}
    where = ("--kubeconfig", str(kubeconfig))
    kubectl.run(*where, "apply", "--filename", "-", given=json.dumps(items))
    selected = ("nodes", "--selector", ",".join(f"{key}={pool.POOL[key]}" for key in pool.POOL))
    kubectl.run(*where, "wait", "--for=condition=Ready", "--timeout=120s", *selected)
    yield kubeconfig
    kubectl.run(*where, "delete", *selected)
    kwok.stop()
    kueue.remove(kubeconfig)


@pytest.fixture
def new_team(nodes: Path) -> Iterator[Callable[[str], Team]]:
    """Makes a namespace that Kueue manages; its jobs are gone before the queues go."""
    with ExitStack() as after:

        def make(name: str) -> Team:
            made = Namespace(f"{name}-{secrets.token_hex(3)}", nodes, kubectl.program())
            made.kubectl("create", "namespace", made.name)
            made.kubectl("label", "namespace", made.name, f"{kueue.LABEL}=true")
            after.callback(made.kubectl, "delete", "namespace", made.name)
            return Team(made)

        yield make


@pytest.fixture
def stack(tmp_path: Path, pulumi_env: dict[str, str], nodes: Path) -> Iterator[Stack]:
    """A stack on the cluster, whose objects are destroyed afterwards."""
    made = new_cli_stack(tmp_path / "queues", {**pulumi_env, "KUBECONFIG": str(nodes)})
    yield made
    made.run("destroy", "--yes", "--skip-preview")
    assert made.resources("") == []
