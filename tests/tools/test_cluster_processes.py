"""Components of a cluster are known by boot, process id and start time, and by nothing else."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import daemon, live

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path))


@pytest.fixture
def running() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def record(name: str, text: str) -> None:
    (live.made("processes") / name).write_text(text)


def test_a_record_is_read_even_where_the_name_of_the_program_is_strange() -> None:
    after = " ".join(["S", *("0" for _ in range(18)), "4711", "0"])
    assert daemon.parsed(f"boot 12 (a ) b (c) {after}") == daemon.Identity("boot", 12, 4711)


def test_the_recorded_process_is_alive_until_it_ends(
    running: "subprocess.Popen[bytes]",
) -> None:
    record("one", f"{BOOT} {Path(f'/proc/{running.pid}/stat').read_text()}")
    assert (daemon.alive("one"), daemon.runs("one")) == (True, True)
    daemon.signalled("one", signal.SIGSTOP)
    os.waitid(os.P_PID, running.pid, os.WSTOPPED)
    assert (daemon.alive("one"), daemon.runs("one")) == (True, False)
    daemon.stop("one")
    assert (daemon.alive("one"), daemon.runs("one")) == (False, False)
    assert daemon.recorded("one") is None


def test_another_process_with_the_same_id_is_not_it(running: "subprocess.Popen[bytes]") -> None:
    stat = Path(f"/proc/{running.pid}/stat").read_text()
    head, _, tail = stat.rpartition(")")
    fields = tail.split()
    fields[19] = str(int(fields[19]) + 1)
    record("later", f"{BOOT} {head}) {' '.join(fields)}")
    record("other-boot", f"{BOOT[::-1]} {stat}")
    for name in ("later", "other-boot", "never-started"):
        assert not daemon.alive(name)
        daemon.signalled(name, signal.SIGKILL)
    assert running.poll() is None


def test_looking_makes_no_folder() -> None:
    assert not daemon.alive("one")
    assert not live.folder().exists()
