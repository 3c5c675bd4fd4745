"""`report` in a process of its own, against a real HTTPS server on loopback."""

import json
import os
import re
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.kube.certificate import self_signed

PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/digits/status"


@dataclass
class Server:
    folder: Path
    token: str = "first"
    hang: threading.Event = field(default_factory=threading.Event)
    answers: list[int] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    seen: threading.Condition = field(default_factory=threading.Condition)
    port: int = 0

    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "KUBEFLOW_TRAINER_SERVER_URL": f"https://127.0.0.1:{self.port}{PATH}",
            "KUBEFLOW_TRAINER_SERVER_CA_CERT": str(self.folder / "ca.crt"),
            "KUBEFLOW_TRAINER_SERVER_TOKEN": str(self.folder / "token"),
            # A proxy of the user's must not see this.
            "https_proxy": "http://127.0.0.1:9",
        }

    def run(self, script: str, **env: str) -> tuple[str, str]:
        """Standard output and error of a script that has `report`."""
        ended = subprocess.run(
            [sys.executable, "-c", f"from trainer_infra.report import report\n{script}"],
            capture_output=True,
            text=True,
            env={**self.env(), **env},
            check=True,
            timeout=600,
        )
        return ended.stdout, ended.stderr

    def statuses(self) -> list[dict[str, Any]]:
        """What was accepted, without its time."""
        return [
            {key: value for key, value in body["trainerStatus"].items() if key != "lastUpdatedTime"}
            for body in self.bodies
        ]


def handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            server.hang.wait(10) if server.answers[:1] == [0] else None
            length = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(length))
            good = self.path == PATH and self.headers["Authorization"] == f"Bearer {server.token}"
            code = server.answers.pop(0) if server.answers else 200 if good else 403
            if code == 200:
                server.bodies.append(body)
            elif code == 403:
                (server.folder / "token").write_text(f"{server.token}\n")
            self.send_response(code or 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...  # type: ignore[explicit-override]

    return Handler


def certificate(folder: Path) -> None:
    made, key = self_signed("status")
    (folder / "ca.crt").write_bytes(made)
    (folder / "key.pem").write_bytes(key)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    certificate(tmp_path)
    (tmp_path / "token").write_text("first\n")
    known = Server(tmp_path)
    listening = ThreadingHTTPServer(("127.0.0.1", 0), handler(known))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "ca.crt", tmp_path / "key.pem")
    listening.socket = context.wrap_socket(
        listening.socket, server_side=True, do_handshake_on_connect=False
    )
    known.port = listening.server_port
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield known
    known.hang.set()
    listening.shutdown()
    thread.join()
    listening.server_close()


def metric(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


def test_a_report_has_the_shape_of_the_protocol(server: Server) -> None:
    out, err = server.run("print(report(41.9, 12.7, loss=0.31, step=3, note='warm'))")
    assert (out, err) == ("True\n", "")
    stamp = server.bodies[0]["trainerStatus"].pop("lastUpdatedTime")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp)
    metrics = [metric("loss", "0.31"), metric("step", "3"), metric("note", "warm")]
    status = {"progressPercentage": 41, "estimatedRemainingSeconds": 12, "metrics": metrics}
    assert server.bodies == [{"trainerStatus": status}]


def test_the_newest_of_many_is_sent_at_the_end_and_what_is_left_out_stays(server: Server) -> None:
    script = (
        "print([report(progress=p, remaining=9, loss=p / 10) for p in range(5)])\n"
        "report(accuracy=0.97)"
    )
    assert server.run(script) == ("[True, False, False, False, False]\n", "")
    assert server.statuses() == [
        {
            "progressPercentage": 0,
            "estimatedRemainingSeconds": 9,
            "metrics": [metric("loss", "0.0")],
        },
        {"progressPercentage": 4, "metrics": [metric("loss", "0.4"), metric("accuracy", "0.97")]},
    ]


def test_the_last_of_all_is_not_withheld(server: Server) -> None:
    assert server.run("print(report(1), report(100), report(100.0))") == ("True True True\n", "")
    assert [each["progressPercentage"] for each in server.statuses()] == [1, 100, 100]


def test_what_the_protocol_cannot_carry_is_cut(server: Server) -> None:
    script = (
        "import decimal\n"
        "class Scalar:\n"
        "    def item(self): return 0.25\n"
        "class Short(Scalar):\n"
        "    def __str__(self): return '0.3'\n"
        "report(progress=250, remaining=-1, tensor=Scalar(), short=Short(), none=None, empty='',\n"
        "       text='x' * 99, flag=True, **{'n' * 70: 1e-7}, **{f'm{i}': i for i in range(300)})"
    )
    assert server.run(script) == ("", "")
    (status,) = server.statuses()
    assert (status["progressPercentage"], status["estimatedRemainingSeconds"]) == (100, 0)
    assert status["metrics"][:5] == [
        metric("tensor", "0.25"),
        metric("short", "0.3"),
        metric("text", "x" * 64),
        metric("flag", "True"),
        metric("n" * 64, "1e-07"),
    ]
    assert len(status["metrics"]) == 256


def test_a_token_that_was_replaced_is_read_again(server: Server) -> None:
    server.token = "second"
    assert server.run("print(report(1))") == ("True\n", "")
    assert len(server.bodies) == 1


def test_a_refusal_is_said_once_and_never_raised(server: Server) -> None:
    server.answers[:] = [422, 422, 200]
    out, err = server.run("print(report(100), report(100), report(float('nan')))")
    assert out == "False False False\n"
    assert err == (
        "trainer_infra.report: not sent, training goes on: "
        "the server answered 422 Unprocessable Entity\n"
    )
    assert server.statuses() == [{"progressPercentage": 100}]


@pytest.mark.parametrize(
    "broken",
    [
        {"KUBEFLOW_TRAINER_SERVER_URL": "https://127.0.0.1:9/x"},
        {"KUBEFLOW_TRAINER_SERVER_URL": "nonsense"},
        {"KUBEFLOW_TRAINER_SERVER_CA_CERT": "/nowhere/ca.crt"},
        {"KUBEFLOW_TRAINER_SERVER_TOKEN": "/nowhere/token"},
    ],
    ids=" ".join,
)
def test_a_broken_environment_never_raises(server: Server, broken: dict[str, str]) -> None:
    out, err = server.run("print(report(1))", **broken)
    assert out == "False\n"
    assert err.startswith("trainer_infra.report: not sent, training goes on: ")
    assert err.count("\n") == 1


def test_another_authority_is_not_trusted(server: Server, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    certificate(other)
    out, err = server.run("print(report(1))", KUBEFLOW_TRAINER_SERVER_CA_CERT=str(other / "ca.crt"))
    assert (out, "CERTIFICATE_VERIFY_FAILED" in err, server.bodies) == ("False\n", True, [])


def test_a_server_that_hangs_costs_two_seconds_at_most(server: Server) -> None:
    server.answers[:] = [0, 0]
    script = (
        "import time\nstart = time.monotonic()\nprint(report(1))\n"
        "print(report(2), 1.5 < time.monotonic() - start < 4)\nimport os\nos._exit(0)"
    )
    out, _ = server.run(f"{script}", PYTHONUNBUFFERED="1")
    assert out == "False\nFalse True\n"


def test_threads_may_report_at_the_same_time(server: Server) -> None:
    script = (
        "import threading\n"
        "threads = [threading.Thread(target=report, kwargs={f'm{i}': i}) for i in range(20)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]"
    )
    assert server.run(script) == ("", "")
    last = server.statuses()[-1]["metrics"]
    assert sorted(each["name"] for each in last) == sorted(f"m{i}" for i in range(20))
    assert len(server.bodies) == 2


def test_a_forked_child_reports_for_itself(server: Server) -> None:
    script = (
        "import os, sys\n"
        "report(loss=1); report(loss=2)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    report(child=1)\n"
        "    sys.exit()\n"
        "os.waitpid(child, 0)"
    )
    assert server.run(script) == ("", "")
    assert [each["metrics"] for each in server.statuses()] == [
        [metric("loss", "1")],
        [metric("child", "1")],
        [metric("loss", "2")],
    ]


def test_without_a_server_it_prints(server: Server) -> None:
    script = "print(report(progress=40, loss=0.31))\nreport(remaining=3.5)\nreport(100)"
    out, err = server.run(script, KUBEFLOW_TRAINER_SERVER_URL="")
    expected = "progress 40%  loss=0.31\nFalse\nremaining 3s\nprogress 100%\n"
    assert (out, err) == (expected, "")


def test_numpy_numbers_and_arrays_are_taken(server: Server) -> None:
    script = (
        "import numpy as np\n"
        "report(np.float64(40), loss=np.float32(0.1), one=np.array([[0.5]]), on=np.bool_(1), "
        "per_class=np.array([0.5, 1]), step=np.int64(3), mode=np.str_('fast'))"
    )
    out, err = server.run(script, KUBEFLOW_TRAINER_SERVER_URL="")
    assert (out, err) == (
        "progress 40%  loss=0.1  one=0.5  on=True  per_class=[0.5, 1.0]  step=3  mode=fast\n",
        "",
    )


def without_time(text: str) -> dict[str, Any]:
    status: dict[str, Any] = json.loads(text)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", status.pop("lastUpdatedTime"))
    return status


def test_with_a_file_instead_of_a_server_it_prints_a_line_and_leaves_the_last_report_there(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "termination-log"
    script = "print([report(p, loss=p / 10) for p in (1, 2, 3)]); report(accuracy=0.97)"
    out, err = server.run(script, KUBEFLOW_TRAINER_SERVER_URL="", TRAINER_INFRA_REPORT=str(file))
    first, returned, last = out.splitlines()
    assert (returned, err) == ("[True, False, False]", "")
    assert [
        without_time(each.removeprefix("trainer-infra-report: ")) for each in (first, last)
    ] == [
        {"progressPercentage": 1, "metrics": [metric("loss", "0.1")]},
        {
            "progressPercentage": 3,
            "metrics": [metric("loss", "0.3"), metric("accuracy", "0.97")],
        },
    ]
    assert file.read_text() == last.removeprefix("trainer-infra-report: ")


def test_the_file_takes_4096_bytes_and_so_the_last_metrics_are_dropped(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "termination-log"
    script = "report(41, **{f'metric-{i:03}': '\u00e4' * 20 for i in range(200)})"
    server.run(script, KUBEFLOW_TRAINER_SERVER_URL="", TRAINER_INFRA_REPORT=str(file))
    assert 3900 < file.stat().st_size <= 4096
    status = without_time(file.read_text())
    names = [each["name"] for each in status["metrics"]]
    assert (status["progressPercentage"], names) == (
        41,
        [f"metric-{index:03}" for index in range(len(names))],
    )


def test_with_a_server_and_a_file_it_posts_prints_and_leaves_the_same(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "termination-log"
    out, err = server.run("print(report(1, loss=0.5))", TRAINER_INFRA_REPORT=str(file))
    line, returned = out.splitlines()
    status = {"progressPercentage": 1, "metrics": [metric("loss", "0.5")]}
    assert (returned, err, server.statuses()) == ("True", "", [status])
    assert without_time(line.removeprefix("trainer-infra-report: ")) == status
    assert without_time(file.read_text()) == status


def test_a_file_that_cannot_be_written_does_not_keep_a_report_from_the_server(
    server: Server, tmp_path: Path
) -> None:
    out, err = server.run("print(report(1))", TRAINER_INFRA_REPORT=str(tmp_path))
    assert (out.splitlines()[1], err, len(server.bodies)) == ("True", "", 1)


def test_a_file_that_cannot_be_written_never_raises(server: Server, tmp_path: Path) -> None:
    out, err = server.run(
        "print(report(1))", KUBEFLOW_TRAINER_SERVER_URL="", TRAINER_INFRA_REPORT=str(tmp_path)
    )
    assert out.startswith("trainer-infra-report: ")
    assert out.splitlines()[1] == "False"
    assert err.startswith("trainer_infra.report: not sent, training goes on: ")


def test_importing_it_loads_nothing_slow() -> None:
    slow = ("ssl", "http.client", "json", "urllib", "socket", "pathlib", "dataclasses")
    file = Path(__file__).parents[2] / "trainer_infra" / "in_pod" / "report.py"
    script = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('report', {str(file)!r})\n"
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
        f"print([name for name in {slow!r} if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"
