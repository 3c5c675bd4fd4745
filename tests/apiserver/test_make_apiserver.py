"""`make apiserver`: what it prints, and that nothing of it stays behind."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from from_source.cluster import build, etcd
from trainer_infra.errors import NotAvailable

pytestmark = pytest.mark.verify
ROOT = Path(__file__).resolve().parent.parent.parent
LONG = 300


@pytest.fixture
def started() -> Iterator["subprocess.Popen[str]"]:
    """The command that make runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "from_source.cluster.apiserver"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def kubeconfig(process: "subprocess.Popen[str]") -> Path:
    """The file that it names when the server is up."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("export KUBECONFIG="):
            return Path(line.strip().removeprefix("export KUBECONFIG="))
    raise AssertionError("it ended before the server was up")


def test_it_names_a_kubeconfig_and_ctrl_c_removes_everything(
    started: "subprocess.Popen[str]",
) -> None:
    config = kubeconfig(started)
    (cluster,) = json.loads(config.read_text())["clusters"]
    parts = psutil.Process(started.pid).children()
    assert sorted(each.name() for each in parts) == ["etcd", "kube-apiserver"]
    assert cluster["cluster"]["server"].startswith("https://127.0.0.1:")
    started.send_signal(signal.SIGINT)
    assert started.wait(LONG) == 0
    assert not config.parent.exists()
    assert not any(each.is_running() for each in parts)


def test_its_processes_end_even_when_it_is_killed(started: "subprocess.Popen[str]") -> None:
    config = kubeconfig(started)
    parts = psutil.Process(started.pid).children()
    started.kill()
    _, alive = psutil.wait_procs(parts, LONG)
    assert alive == []
    shutil.rmtree(config.parent)


def test_without_go_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path))
    with pytest.raises(NotAvailable) as caught:
        etcd.program()
    assert str(caught.value) == (
        "a test cluster needs etcd and found neither it nor `go` on PATH; "
        "install Go, so that it can be built from published modules"
    )


def test_a_build_that_fails_shows_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path))
    with pytest.raises(NotAvailable, match=r"building nothing failed \(exit code 1, log .*nothing"):
        build.built(build.Program("nothing", "etcd", "go.etcd.io/etcd/server/v3/nothing"))
