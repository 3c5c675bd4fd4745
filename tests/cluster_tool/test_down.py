"""`make cluster-down`: what was there before is there after, and nothing else."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import cgroup, daemon, down, kubectl, live, namespaces, up
from tests.cluster_tool.namespace import Namespace, pod

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(autouse=True)
def own_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another one, which these tests take down."""
    monkeypatch.setenv(live.NAME, "check-down")
    monkeypatch.delenv("KUBECONFIG", raising=False)
    yield
    down.remove()


def machine() -> dict[str, str]:
    """What a cluster could leave on a machine, besides processes; others come and go beside it."""
    commands = {
        "links": "ip -oneline link | cut -d: -f2",
        "addresses": "ip -oneline address | awk '{print $2, $4}'",
        "routes": "ip route; ip rule",
        "nftables": "nft list ruleset",
        "mounts": "sort /proc/self/mounts",
        "settings": "cat " + " ".join(f"/proc/sys/{each}" for each in namespaces.COVERED),
        "folders": "ls -d " + " ".join(namespaces.FOLDERS) + " 2> /dev/null || true",
        "groups": "find /sys/fs/cgroup -maxdepth 2 -name " + cgroup.name()[1:],
    }
    return {
        name: subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, check=True
        ).stdout
        for name, command in commands.items()
    }


def in_network(number: int) -> set[int]:
    """Processes in a network namespace."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            if each.stat().st_ino == number:
                found.add(int(each.parts[2]))
        except OSError:
            continue
    return found


def lives(pid: int) -> bool:
    """Whether it runs; one that has ended waits for the machine's first process to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def interrupt(seconds: float) -> None:
    """Kill who makes a cluster, or repairs it, after so many seconds."""
    making = subprocess.Popen([sys.executable, "-m", "from_source.cluster.up"], cwd=ROOT)
    time.sleep(seconds)
    making.kill()
    making.wait()


def test_one_that_was_hardly_begun_is_taken_down() -> None:
    before = machine()
    interrupt(0.7)
    down.remove()
    assert machine() == before
    assert cgroup.members() == set()


def test_one_made_by_half_is_repaired_and_nothing_of_it_stays_behind() -> None:
    before = machine()
    for seconds in (2.5, 7):
        interrupt(seconds)
    namespace = Namespace("default", up.ensure(), kubectl.program())
    assert up.is_whole()
    namespace.wait("serviceaccount/default", "create")
    namespace.apply(pod("one", ["sleep", "600"]))
    namespace.wait("pod/one", "condition=Ready")
    holder = daemon.recorded(daemon.HOLDER)
    assert holder is not None
    number = Path(f"/proc/{holder.pid}/ns/net").stat().st_ino
    members = cgroup.members()
    assert in_network(number) < members
    assert machine()["mounts"] == before["mounts"]
    folder = live.folder()

    subprocess.run([sys.executable, "-m", "from_source.cluster.down"], cwd=ROOT, check=True)

    assert machine() == before
    assert cgroup.members() == set()
    assert in_network(number) == set()
    assert {pid for pid in members if lives(pid)} == set()
    assert not folder.exists()


def test_taking_down_what_is_not_there_is_nothing() -> None:
    before = machine()
    down.remove()
    assert machine() == before
    assert not live.folder().exists()
