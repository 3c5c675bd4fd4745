"""A real Prometheus scrapes the controller: every panel and every alert is about series that it has."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from from_source.cluster import apiserver, prometheus
from from_source.cluster.client import Client
from from_source.cluster.process import Process
from from_source.cluster.prometheus import Prometheus
from tests.conformance.implementations import BUILTIN
from tests.e2e.jobs import eventually
from trainer_infra import catalog
from trainer_infra.local.network import reserved_port
from trainer_infra.platform import builtin_control_plane
from trainer_infra.platform.trainer_dashboard import BUILTIN_PANELS

pytestmark = pytest.mark.soak  # Prometheus takes minutes to build
LABELS = {"namespace": "kubeflow-system", "service": "kubeflow-trainer-controller-manager"}
SELECT = ",".join(f'{key}="{value}"' for key, value in LABELS.items())
TRAIN_JOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs"
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
TIME = "2026-11-26T00:00:00Z"
COUNTS = {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}


@dataclass(frozen=True)
class Watched:
    """A controller, its API server, and the Prometheus that scrapes it."""

    client: Client
    controller: Process
    prometheus: Prometheus

    def patch_status(self, path: str, status: dict[str, Any]) -> None:
        """Write a status, as the controllers do whose part the test plays."""
        self.client.merge(f"{path}/status", {"status": status})


def groups() -> list[Any]:
    """Our alerts, which do not wait to be sure."""
    found = builtin_control_plane.alert_groups(SELECT)
    return [
        {**group, "rules": [{**rule, "for": "1s"} for rule in group["rules"]]} for group in found
    ]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("prometheus")
    with ExitStack() as ending:
        address, kubeconfig = ending.enter_context(apiserver.running())
        client = ending.enter_context(Client(address))
        runtimes = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
        client.create(runtimes, catalog.get("jax-distributed").to_wire())
        with reserved_port() as port, reserved_port() as webhook:
            target = f"127.0.0.1:{port}"
        config = folder / "config.yaml"
        config.write_text(json.dumps(configuration(target, webhook)))
        controller = Process(BUILTIN.command(config, kubeconfig), folder)
        ending.callback(controller.kill)
        scraping = prometheus.running(folder, target, LABELS, groups())
        yield Watched(client, controller, ending.enter_context(scraping))


def configuration(metrics: str, webhook: int) -> dict[str, Any]:
    return {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "metrics": {"bindAddress": metrics, "secureServing": False},
        "health": {"healthProbeBindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": webhook},
        "certManagement": {"enable": False},
    }


def train_job(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"runtimeRef": {"name": "jax-distributed"}},
    }


def has_job_set(watched: Watched, name: str) -> Callable[[], bool]:
    return lambda: watched.client.get(f"{JOB_SETS}/{name}").status == 200


def value(watched: Watched, expression: str) -> float:
    """The value of an expression of one series; -1 where there is none."""
    found = watched.prometheus.query(expression)
    return float(found[0]["value"][1]) if found else -1.0


def test_what_trainjobs_do_is_in_every_panel(watched: Watched) -> None:
    for name in ("runs", "ends"):
        watched.client.create(TRAIN_JOBS, train_job(name))
        eventually(has_job_set(watched, name))
        watched.patch_status(f"{JOB_SETS}/{name}", {"replicatedJobsStatus": [COUNTS]})
    ended = {"type": "Completed", "status": "True", "reason": "R", "message": "m"}
    eventually(lambda: value(watched, 'trainer_controller_trainjobs{state="Running"}') == 2)
    conditions = [{**ended, "lastTransitionTime": TIME}]
    watched.patch_status(f"{JOB_SETS}/ends", {"conditions": conditions})
    eventually(lambda: value(watched, 'trainer_controller_trainjobs{state="Complete"}') == 1)

    def silent() -> list[str]:
        asked = (each.query.replace("SELECT", SELECT) for each in BUILTIN_PANELS)
        expressions = (each.replace("$__rate_interval", "1m") for each in asked)
        return [each for each in expressions if not watched.prometheus.query(each)]

    eventually(lambda: not silent())
    assert silent() == []


def test_metrics_of_training_are_series_of_a_trainjob_that_reports(watched: Watched) -> None:
    watched.client.create(TRAIN_JOBS, train_job("reports"))
    eventually(has_job_set(watched, "reports"))
    status = {"progressPercentage": 40, "metrics": [{"name": "loss", "value": "0.25"}]}
    stamped = {**status, "lastUpdatedTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    watched.patch_status(f"{TRAIN_JOBS}/reports", {"trainerStatus": stamped})

    loss = 'trainer_infra_training_metric{train_job="reports",metric="loss"}'
    eventually(lambda: value(watched, loss) == 0.25)
    progress = 'trainer_infra_training_progress_ratio{train_job="reports"}'
    assert value(watched, progress) == 0.4


def test_every_alert_is_sound_and_a_controller_that_ends_is_one(watched: Watched) -> None:
    eventually(lambda: {each["health"] for each in watched.prometheus.rules()} == {"ok"})
    firing = {each["name"] for each in watched.prometheus.rules() if each["state"] != "inactive"}
    assert firing == set()
    watched.controller.kill()

    def is_told() -> bool:
        (down,) = [
            each for each in watched.prometheus.rules() if each["name"] == "TrainerControllerDown"
        ]
        return bool(down["state"] == "firing")

    eventually(is_told)
