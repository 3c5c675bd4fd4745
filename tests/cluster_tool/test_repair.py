"""`make cluster` again: nothing to do, or what is missing is made good."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from from_source.cluster import components, daemon, live, up
from from_source.cluster.waiting import wait_until
from tests.cluster_tool.namespace import Namespace, pod
from trainer_infra.errors import NotAvailable

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = [sys.executable, "-m", "from_source.cluster.up"]


def identities() -> dict[str, daemon.Identity | None]:
    return {name: daemon.recorded(name) for name in components.ORDER}


def kill(name: str) -> None:
    daemon.signalled(name, signal.SIGKILL)
    assert wait_until(lambda: not daemon.alive(name), 10)


@pytest.mark.usefixtures("cluster")
def test_a_second_run_starts_nothing() -> None:
    before = identities()
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=True)
    assert identities() == before
    assert done.stdout.splitlines()[-1] == f"export KUBECONFIG={live.kubeconfig()}"
    assert done.stderr == ""


@pytest.mark.parametrize("killed", ["forwarder", "containerd", "kube-apiserver", "kubelet", "etcd"])
def test_what_was_killed_is_started_again_and_pods_live_on(
    namespace: Namespace, killed: str
) -> None:
    namespace.apply(pod("one", ["sleep", "600"]))
    namespace.wait("pod/one", "condition=Ready")
    uid = namespace.run("get", "pod", "one", "--output=jsonpath={.metadata.uid}{.status.podIP}")
    before = identities()
    kill(killed)
    up.ensure()
    after = identities()
    assert {name for name in after if after[name] != before[name]} == {killed}
    namespace.apply(pod("two", ["true"]))
    namespace.finished("two")
    again = namespace.run("get", "pod", "one", "--output=jsonpath={.metadata.uid}{.status.podIP}")
    assert again == uid
    assert namespace.run("exec", "one", "--", "hostname") == "one\n"


@pytest.mark.usefixtures("cluster")
def test_what_stands_still_goes_on() -> None:
    before = identities()
    up.component("kube-scheduler").pause()
    assert not up.is_whole()
    up.ensure()
    assert up.is_whole()
    assert identities() == before


def test_what_was_removed_from_it_is_installed_again(namespace: Namespace) -> None:
    namespace.run("delete", "namespace", "jobset-system")
    up.ensure()
    assert up.is_whole()


def test_a_node_without_its_kubelet_is_soon_not_ready(namespace: Namespace) -> None:
    kubelet = up.component("kubelet")
    kubelet.stop()
    ready = '{.status.conditions[?(@.type=="Ready")].status}'
    namespace.wait(f"node/{live.NODE}", f"jsonpath={ready}=Unknown", seconds=30)
    kubelet.start()
    namespace.wait(f"node/{live.NODE}", f"jsonpath={ready}=True", seconds=30)


@pytest.mark.usefixtures("cluster")
def test_without_its_namespaces_it_is_made_anew() -> None:
    before = identities()
    kill(daemon.HOLDER)
    up.ensure()
    after = identities()
    assert all(after[name] != before[name] for name in components.ORDER)
    assert up.is_whole()


def test_an_unknown_component_is_an_error() -> None:
    with pytest.raises(KeyError):
        up.component("kube-nothing")


def test_a_cluster_of_the_users_is_only_looked_at(
    cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "kubeconfig"
    theirs.write_bytes(cluster.read_bytes())
    monkeypatch.setenv("KUBECONFIG", str(theirs))
    done = subprocess.run(COMMAND, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "the one that KUBECONFIG names" in done.stdout
    assert done.stdout.splitlines()[-1] == f"export KUBECONFIG={theirs}"


def test_a_cluster_of_the_users_without_jobset_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "kubeconfig"
    theirs.write_text("{}")
    monkeypatch.setenv("KUBECONFIG", str(theirs))
    with pytest.raises(NotAvailable, match="does not serve JobSet"):
        up.ensure()
