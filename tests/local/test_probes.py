"""Probes of containers: ready, started, alive."""

from pathlib import Path
from typing import Any

import pytest

from tests.local.jobs import (
    Job,
    eventually,
    finished,
    log_has,
    now,
    python,
    replicated_job,
    shell,
)
from trainer_infra.local import network

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
    with network.reserved_port() as port:
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


def test_of_a_pod_whose_work_has_ended_it_is_said_what_goes_on_and_it_is_not_ready(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    waits = shell(f"until [ -e {gate} ]; do sleep 0.02; done")
    proxies = [{"name": name, "image": "none", "command": waits} for name in ("metrics", "proxy")]
    pod = {"containers": [proxies[0], {"name": "node", "image": "none"}, proxies[1]]}
    run = Job(command=shell("echo trained"), pod=pod).submit()
    eventually(lambda: now(run).waiting_for)
    said = now(run)
    assert said.waiting_for == (
        "pod tj-node-0-0: container node ended with 0; each of metrics and proxy keeps the pod: "
        "make it an init container with restartPolicy Always"
    )
    assert said.phase == "Running"
    assert said.nodes[0].kept_by == ("metrics", "proxy")
    assert said.status["jobsStatus"][0]["ready"] == 0
    gate.touch()
    ended = finished(run)
    assert ended.phase == "Complete"
    assert (ended.waiting_for, ended.nodes[0].kept_by) == ("", ())


def test_an_initializer_that_is_kept_is_named_before_the_step_that_waits_for_it(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    first = replicated_job("first", ["true"])
    late = {
        "name": "late",
        "image": "none",
        "command": shell(f"until [ -e {gate} ]; do sleep 0.02; done"),
    }
    first["template"]["spec"]["template"]["spec"]["containers"].append(late)
    run = Job(jobs=[first]).submit()
    eventually(lambda: "node ended with 0; late keeps the pod" in now(run).waiting_for)
    gate.touch()
    assert finished(run).phase == "Complete"
