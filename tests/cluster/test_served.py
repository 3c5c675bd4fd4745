"""What is known of a cluster as a whole."""

import json
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from tests.cluster.submissions import Job
from trainer_infra import names
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.served_kinds import ServedKinds
from trainer_infra.errors import NotAvailable


def uid_of(api_server: RunningServer, namespace: str) -> str:
    with Client(api_server.address) as client:
        return str(client.get(f"/api/v1/namespaces/{namespace}").body["metadata"]["uid"])


def test_a_cluster_is_told_by_the_uid_of_its_oldest_namespace(
    api_server: RunningServer, cluster: Cluster
) -> None:
    assert cluster.host() == f"cluster {uid_of(api_server, 'kube-system')}"


def test_what_is_served_is_said(api_server: RunningServer, cluster: Cluster) -> None:
    assert cluster.served() == ServedKinds(
        reachable=True,
        jobset=True,
        train_jobs=True,
        kueue=False,
        controller=names.UPSTREAM,
        server=api_server.address.url,
        host=cluster.host(),
    )


def test_a_cluster_that_cannot_be_reached_is_said(
    api_server: RunningServer, tmp_path: Path
) -> None:
    config = json.loads(api_server.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:9"
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    away = Cluster(str(file), None)
    found = away.served()
    assert (found.reachable, found.jobset, found.host) == (False, False, "")
    assert "127.0.0.1:9" in found.problem
    with pytest.raises(NotAvailable, match=r"127\.0\.0\.1:9"):
        away.submit(Job("team").submission())


def test_no_kubeconfig_is_said(tmp_path: Path) -> None:
    missing = Cluster(str(tmp_path / "none"), None)
    assert missing.served().reachable is False
    assert str(tmp_path / "none") in missing.served().problem
