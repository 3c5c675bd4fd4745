"""Pods that the supervisor, or the whole machine, tells to end have not succeeded, although they end with 0."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.local.jobs import Job, eventually, finished, left, lines, log_has, now, shell
from trainer_infra.errors import NotAvailable
from trainer_infra.local import runs
from trainer_infra.runs.run import Run, RunKey

GO = "../../../../claims/go"
TRAINING = (
    f"trap 'echo saved; exit 0' TERM; echo on; touch {GO}-on-$JOB_COMPLETION_INDEX; "
    f"until [ -e {GO} ]; do sleep 0.02; done; echo end"
)
FAILS_ONCE = (
    f"if [ $JOB_COMPLETION_INDEX = 1 ] && [ ! -e {GO}-failed ]; then "
    f"until [ -e {GO}-on-0 ]; do sleep 0.02; done; touch {GO}-failed; exit 1; fi; "
)
NODES = ("tj-node-0-0", "tj-node-0-1")


def go(home: Path) -> None:
    (home / "runs" / "default" / "tj" / "claims" / "go").touch()


def said(run: Run, line: str, times: int = 1) -> Callable[[], bool]:
    """Whether each node has said it so often."""

    def all_said() -> bool:
        # A pod that has not begun has no log.
        with suppress(NotAvailable):
            return all(lines(run, each).count(line) == times for each in NODES)
        return False

    return all_said


def test_a_suspended_run_trains_again_though_its_pods_ended_with_0(home: Path) -> None:
    run = Job(command=shell(TRAINING), nodes=2).submit()
    eventually(said(run, "on"))
    runs.suspend(RunKey("default", "tj", run.uid), True)
    eventually(said(run, "saved"))
    runs.suspend(RunKey("default", "tj", run.uid), False)
    eventually(said(run, "on", 2))
    assert now(run).phase == "Running"
    go(home)
    assert finished(run).phase == "Complete"
    assert [lines(run, each)[-1] for each in NODES] == ["end", "end"]


def test_a_restart_trains_again_though_the_other_pod_ended_with_0(home: Path) -> None:
    jobset = {"failurePolicy": {"maxRestarts": 1}}
    run = Job(command=shell(FAILS_ONCE + TRAINING), nodes=2, jobset=jobset).submit()
    eventually(log_has(run, "saved"))
    eventually(lambda: lines(run, NODES[0]).count("on") == 2)
    assert now(run).phase == "Running"
    go(home)
    assert finished(run).phase == "Complete"


def by_pid(processes: list[psutil.Process]) -> list[psutil.Process]:
    return sorted(processes, key=lambda each: each.pid)


def from_the_last(processes: list[psutil.Process]) -> list[psutil.Process]:
    return by_pid(processes)[::-1]


@pytest.mark.parametrize("order", [by_pid, from_the_last])
def test_a_machine_that_shuts_down_leaves_no_run_complete(order: Callable[[Any], Any]) -> None:
    """Every process is told to end at once, as systemd does, and the pods end with 0."""
    run = Job(command=shell(TRAINING), nodes=2).submit()
    eventually(said(run, "on"))
    for each in order(left(run)):
        # One may be gone with those before it.
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGTERM)
    run = finished(run)
    assert (run.phase, run.reason) == ("Failed", "SupervisorLost")
    eventually(lambda: left(run) == [])
