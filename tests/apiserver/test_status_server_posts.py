"""Posts of every kind to the status server, which runs as a process of its own: no crash, no wrong acceptance.

Each seed names its posts for good. `make soak` sends 100,000.
"""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from from_source.cluster.apiserver import RunningServer
from tests.apiserver.reporting_pods import Cluster, client, cluster, kubernetes
from tests.controller.served_reports import TIME, Served
from tests.kube.certificate import self_signed
from trainer_infra.progress import handler, validation

__all__ = ["client", "cluster", "kubernetes"]
MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class Running:
    """The server's process."""

    served: Served
    process: psutil.Process

    def megabytes(self) -> float:
        return float(self.process.memory_info().rss) / MEBIBYTE


@pytest.fixture(scope="module")
def running(
    kubernetes: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("process")
    certificate, key = self_signed("status-server")
    file, pair = folder / "server.crt", folder / "server.pem"
    file.write_bytes(certificate)
    pair.write_bytes(certificate + key)
    command = [sys.executable, "-m", "tests.controller.status_server_process"]
    with subprocess.Popen(
        [*command, str(kubernetes.kubeconfig), str(pair)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        served = Served(int(process.stdout.readline()), file, CollectorRegistry())
        yield Running(served, psutil.Process(process.pid))
        assert process.poll() is None
        process.communicate()
    assert process.returncode == 0


TEXT = st.text(max_size=66)
STATUS = st.fixed_dictionaries(
    {"lastUpdatedTime": st.just(TIME) | TEXT | st.datetimes().map(lambda at: f"{at.isoformat()}Z")},
    optional={
        "progressPercentage": st.integers(-1, 101) | st.integers() | st.floats() | st.none(),
        "estimatedRemainingSeconds": st.integers(-1, 2**31) | st.booleans(),
        "metrics": st.lists(st.fixed_dictionaries({"name": TEXT, "value": TEXT}), max_size=5),
        "more": st.none(),
    },
)
BODY = (
    st.builds(lambda status: json.dumps({"trainerStatus": status}).encode(), STATUS)
    | st.builds(lambda status: json.dumps(status, ensure_ascii=True).encode(), STATUS)
    | st.binary(max_size=200)
    | st.builds(
        lambda size: b'{"trainerStatus": {"x": "' + b"y" * size + b'"}}', st.integers(0, 70000)
    )
)


def accepted(body: bytes) -> bool:
    """Whether the rules of the protocol accept a body."""
    try:
        status = validation.decode_status(body)
    except (ValueError, RecursionError):
        return False
    return status is None or validation.status_problem("tj", status) is None


def check_posts(running: Running, cluster: Cluster, number: int, count: int) -> None:
    """Send posts of a seed: each is answered as the rules of the protocol say."""
    headers = {"Authorization": f"Bearer {cluster.token(cluster.run())}"}
    path = handler.path_of(cluster.namespace, "tj")
    with running.served.kept() as request:

        @seed(number)
        @settings(
            deadline=None,
            max_examples=count,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(BODY, st.booleans())
        def post(body: bytes, chunked: bool) -> None:
            sent: Any = iter([body]) if chunked and body else body
            reply = request("POST", path, sent, headers)
            fits = len(body) <= handler.LARGEST_BODY
            good = fits and accepted(body)
            assert reply.status == (200 if good else 422 if fits or chunked else 413), body
            assert good or reply.body["status"] == "Failure"
            if good and b"trainerStatus" in reply.content:
                stored = cluster.stored()["status"]["trainerStatus"]
                assert stored == reply.body["trainerStatus"]

        post()
    before = cluster.stored()
    assert request_of_nothing(running, path, headers) == 422
    assert cluster.stored() == before


def request_of_nothing(running: Running, path: str, headers: dict[str, str]) -> int:
    return running.served.request("POST", path, b"{", headers).status


def test_posts_of_every_kind_are_answered_by_the_rules(running: Running, cluster: Cluster) -> None:
    check_posts(running, cluster, 1, 300)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_hundred_thousand_posts_are_answered_by_the_rules_and_memory_stays_flat(
    running: Running, cluster: Cluster
) -> None:
    check_posts(running, cluster, 2, 5_000)
    before = running.megabytes()
    for number in range(3, 22):
        check_posts(running, Cluster(cluster.client), number, 5_000)

    after = running.megabytes()
    assert after < before + 10.0, (before, after)
    logging.getLogger(__name__).warning(
        "%.1f MiB after 5,000 posts, %.1f after 100,000", before, after
    )
