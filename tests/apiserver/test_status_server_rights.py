"""The least rights with which the status server serves: each of them is needed, and no other."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.apiserver.reporting_pods import Cluster, cluster, kubernetes
from tests.controller.served_reports import Served, failure, served
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.kube import http
from trainer_infra.kube.loop import run_in_loop

__all__ = ["cluster", "kubernetes"]
RBAC = "/apis/rbac.authorization.k8s.io/v1"
RIGHTS: dict[str, tuple[str, str]] = {
    "tokenreviews": ("authentication.k8s.io", "create"),
    "pods": ("", "get"),
    "jobs": ("batch", "get"),
    "jobsets": ("jobset.x-k8s.io", "get"),
    "trainjobs": ("trainer.kubeflow.org", "get"),
    "trainjobs/status": ("trainer.kubeflow.org", "patch"),
}


@contextmanager
def server_of_account(
    kubernetes: RunningServer, cluster: Cluster, folder: Path, rights: dict[str, tuple[str, str]]
) -> Iterator[Served]:
    """A server that has these rights in every namespace."""
    cluster.account("manager")
    rules = [
        {"apiGroups": [group], "resources": [plural], "verbs": [verb]}
        for plural, (group, verb) in rights.items()
    ]
    name = cluster.namespace
    role = {"kind": "ClusterRole", "name": name, "apiGroup": "rbac.authorization.k8s.io"}
    subject = {"kind": "ServiceAccount", "name": "manager", "namespace": name}
    cluster.made(f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
    cluster.made(f"{RBAC}/clusterrolebindings", binding)
    config: dict[str, Any] = json.loads(kubernetes.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": manager_token(cluster)}
    authority = kubernetes.folder / "certificates" / "apiserver.crt"
    config["clusters"][0]["cluster"]["certificate-authority"] = str(authority)
    client = run_in_loop(http.connect_client(json.dumps(config)))
    settings = StatusServerSettings(host="127.0.0.1", port=0)
    with served(client, folder, settings) as started:
        yield started
    run_in_loop(client.close())


def manager_token(cluster: Cluster) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    made = cluster.core("serviceaccounts/manager/token", {**request, "metadata": {}})
    token: str = made["status"]["token"]
    return token


def test_these_rights_are_enough(
    kubernetes: RunningServer, cluster: Cluster, tmp_path: Path
) -> None:
    with server_of_account(kubernetes, cluster, tmp_path, RIGHTS) as server:
        assert server.post(cluster.namespace, "tj", cluster.token(cluster.run())).status == 200
    assert cluster.stored()["status"]["trainerStatus"]["progressPercentage"] == 1


@pytest.mark.parametrize("missing", RIGHTS)
def test_without_one_of_them_no_report_is_taken_and_the_log_says_why(
    kubernetes: RunningServer,
    cluster: Cluster,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    missing: str,
) -> None:
    rights = {key: right for key, right in RIGHTS.items() if key != missing}
    with server_of_account(kubernetes, cluster, tmp_path, rights) as server:
        reply = server.post(cluster.namespace, "tj", cluster.token(cluster.run()))

    assert (reply.status, reply.body) == failure(500, "InternalError", "Internal error")
    assert "status" not in cluster.stored()
    assert "Forbidden" in caplog.text
