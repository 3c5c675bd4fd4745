"""The command in a folder of its own; runs that a test leaves are deleted after it.

For a cluster: a real API server with a namespace for each test, and no controllers.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from from_source.cluster.kube_apiserver import Address
from tests.cli.command import Command, command_in, until
from tests.cluster.submissions import Job
from tests.cluster.world import JOBSETS, Collector, World, ok
from tests.warm_supervisors import supervisors
from trainer_infra.cluster.provider.engine_provider import Cluster

__all__ = ["supervisors"]

_COUNT = itertools.count()


def _deleted(command: Command) -> None:
    for run in command.runs():
        command("delete", run["name"], "-n", run["namespace"], "--ignore-not-found")


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Command]:
    """For one test."""
    command = command_in(tmp_path)
    yield command
    if (tmp_path / "home").exists():
        _deleted(command)


@pytest.fixture(scope="module")
def shared_cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """For the tests of one file that only look."""
    command = command_in(tmp_path_factory.mktemp("shared"))
    yield command
    _deleted(command)


@dataclasses.dataclass
class Team:
    """A namespace of the API server, the command of who works in it, and a driver to submit with."""

    command: Command
    world: World
    cluster: Cluster
    address: Address
    kubeconfig: Path
    collector: Collector

    def submit(self, name: str = "tj", **more: Any) -> None:
        """A run as the provider makes one."""
        job = dataclasses.replace(Job(self.world.namespace, name), **more)
        self.cluster.submit(job.submission())


@pytest.fixture
def team(api_server: RunningServer, tmp_path: Path) -> Iterator[Team]:
    """A new namespace, which the kubeconfig's context names; deletions end as on a cluster."""
    address, administrators = api_server
    name = f"cli-{next(_COUNT)}"
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        administrators.read_text().replace(
            '"user": "trainer-infra"', f'"user": "trainer-infra", "namespace": "{name}"'
        )
    )
    plain = command_in(tmp_path)
    command = Command(plain.folder, {**plain.env, "KUBECONFIG": str(kubeconfig)})
    cluster = Cluster(str(kubeconfig), None)
    with Client(address) as client, Client(address) as collecting:
        ok(client.create("/api/v1/namespaces", {"metadata": {"name": name}}))
        account = {"metadata": {"name": "default"}}
        ok(client.create(f"/api/v1/namespaces/{name}/serviceaccounts", account))
        # A server that has just learned of JobSets does not list them at once.
        until(lambda: client.get(JOBSETS.format(name)).status == HTTPStatus.OK)
        collector = Collector(collecting, name)
        collector.start()
        yield Team(command, World(client, name), cluster, address, kubeconfig, collector)
        collector.end()
    cluster.close()
