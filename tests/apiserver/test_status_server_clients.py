"""Programs that report as they do in a training pod: ours, and the published SDK's."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.reporting_pods import Cluster, client, cluster, kubernetes
from tests.controller.served_reports import Served, served
from trainer_infra import names
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.kube.client import KubeClient
from trainer_infra.progress import handler

__all__ = ["client", "cluster", "kubernetes"]
UV = Path(sys.executable).parent / "uv"
SDK = "kubeflow==0.5.*"


@pytest.fixture
def server(client: KubeClient, tmp_path: Path) -> Iterator[Served]:
    settings = StatusServerSettings(host="127.0.0.1", port=0)
    with served(client, tmp_path, settings) as started:
        yield started


def pod(server: Served, cluster: Cluster, tmp_path: Path, token: str) -> dict[str, str]:
    """The environment of a training pod's container."""
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    path = handler.path_of(cluster.namespace, "tj")
    return {
        **os.environ,
        names.PROGRESS_URL: f"https://127.0.0.1:{server.port}{path}",
        names.PROGRESS_CA: str(server.certificate),
        names.PROGRESS_TOKEN: str(file),
    }


def run(command: list[str], environment: dict[str, str]) -> list[str]:
    """The lines that a program prints."""
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


REPORT = """
from trainer_infra.report import report
print(report(12.9, remaining=30, loss=0.5, stage="warm-up"))
print(report(50, loss=0.25))
print(report(100, loss=0.125))
"""


def test_our_own_module_reports_from_a_pod(
    server: Served, cluster: Cluster, tmp_path: Path
) -> None:
    environment = pod(server, cluster, tmp_path, cluster.token(cluster.run()))

    assert run([sys.executable, "-c", REPORT], environment) == ["True", "False", "True"]
    stored = cluster.stored()["status"]["trainerStatus"]
    assert stored.pop("lastUpdatedTime")
    assert stored == {
        "progressPercentage": 100,
        "metrics": [{"name": "loss", "value": "0.125"}, {"name": "stage", "value": "warm-up"}],
    }


def test_our_own_module_says_once_that_its_token_is_refused(
    server: Served, cluster: Cluster, tmp_path: Path
) -> None:
    environment = pod(server, cluster, tmp_path, cluster.token(cluster.pod(None)))
    cluster.train_job()
    done = subprocess.run(
        [sys.executable, "-c", REPORT], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["False", "False", "False"]
    assert done.stderr.count("the server answered 403 Forbidden") == 1


UPDATE = """
from kubeflow.trainer import update_trainjob_status
print(update_trainjob_status(42, 30, {"loss": 0.5, "stage": "warm-up"}))
"""


def test_the_published_sdk_reports_from_a_pod(
    server: Served, cluster: Cluster, tmp_path: Path
) -> None:
    environment = pod(server, cluster, tmp_path, cluster.token(cluster.run()))
    beside = [str(UV), "run", "--no-project", "--python", sys.executable, "--with", SDK, "-q"]

    assert run([*beside, "python", "-c", UPDATE], environment) == ["True"]
    stored = cluster.stored()["status"]["trainerStatus"]
    assert stored.pop("lastUpdatedTime")
    metrics = {each["name"]: each["value"] for each in stored.pop("metrics")}
    assert stored == {"progressPercentage": 42, "estimatedRemainingSeconds": 30}
    assert json.loads(metrics["loss"]) == 0.5
