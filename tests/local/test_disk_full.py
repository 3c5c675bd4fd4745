"""A full disk ends the run and says what to do."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.jobs import Job, eventually, finished, left, now, shell
from trainer_infra import names
from trainer_infra.local import runs
from trainer_infra.runs.run import RunKey


def test_a_log_that_cannot_be_written_fails_the_run(home: Path) -> None:
    run = Job(command=shell("echo on; sleep 60"), spec={"suspend": True}).submit()
    log = home / "runs/default/tj/logs/tj-node-0-0.log"
    log.symlink_to("/dev/full")
    runs.suspend(RunKey("default", "tj", run.uid), False)
    run = finished(run)

    assert (run.phase, run.reason, run.message) == (
        "Failed",
        "DiskFull",
        (
            f"writing {log} failed: No space left on device; free space there, or set "
            "TRAINER_INFRA_HOME to a folder on another disk, and run again"
        ),
    )
    eventually(lambda: left(run) == [])


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    monkeypatch.setenv(names.STATE_HOME, str(disk))
    yield disk
    for run in runs.list_runs().runs:
        runs.delete(RunKey(run.namespace, run.name, run.uid), timeout=5)
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.usefixtures("small_disk")
def test_the_reserve_makes_room_for_the_last_status() -> None:
    run = Job(command=shell("yes | tr -d '\\n' | fold -w 1000; sleep 60")).submit()
    run = finished(run)

    assert (run.phase, run.reason) == ("Failed", "DiskFull")
    assert now(run).status["conditions"][0]["reason"] == "DiskFull"
    eventually(lambda: left(run) == [])
