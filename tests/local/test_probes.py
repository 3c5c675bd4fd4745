"""Probes of containers: ready, started, alive."""

from typing import Any

import pytest

from tests.local.jobs import Job, eventually, finished, log_has, now, python, shell
from trainer_infra.local import ports

SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ok" else 500)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def ready(job: Job, within: float) -> bool:
    run = job.submit()
    eventually(lambda: now(run).status.get("jobsStatus"))
    try:
        is_ready = eventually(lambda: now(run).status["jobsStatus"][0]["ready"] == 1, within)
    except AssertionError:
        return False
    return bool(is_ready)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({"httpGet": {"path": "/ok", "port": "http"}}, True),
        ({"httpGet": {"path": "/broken", "port": "http"}}, False),
        ({"tcpSocket": {"port": "http"}}, True),
        ({"tcpSocket": {"port": 1}}, False),
        ({"exec": {"command": ["true"]}}, True),
        ({"exec": {"command": ["false"]}}, False),
        ({"exec": {"command": ["no-such-program"]}}, False),
    ],
)
def test_a_pod_is_ready_when_its_probe_passes(kind: dict[str, Any], expected: bool) -> None:
    within = 300 if expected else 2
    with ports.reserved_port() as port:
        assert ready(job_with_server(kind, port), within) is expected


def job_with_server(kind: dict[str, Any], port: int) -> Job:
    container = {
        "name": "node",
        "image": "none",
        "ports": [{"name": "http", "containerPort": port}],
        "readinessProbe": {**kind, "periodSeconds": 0.1},
    }
    return Job(command=[*python(SERVER), str(port)], pod={"containers": [container]})


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe"])
def test_a_container_whose_probe_fails_is_killed(probe: str) -> None:
    container = {
        "name": "node",
        "image": "none",
        probe: {"exec": {"command": ["false"]}, "periodSeconds": 0.1, "failureThreshold": 2},
    }
    run = finished(Job(command=["sleep", "60"], pod={"containers": [container]}).submit())

    assert "pod tj-node-0-0: container node ended with exit code 137" in run.message


def test_a_sidecar_that_ends_is_started_again() -> None:
    sidecar = {
        "name": "s",
        "restartPolicy": "Always",
        "command": shell("echo again"),
    }
    run = Job(command=["sleep", "60"], pod={"initContainers": [sidecar]}).submit()

    eventually(log_has(run, "again"))
