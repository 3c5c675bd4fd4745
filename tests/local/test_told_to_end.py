"""Pods that are told to end and end with 0 have not succeeded, whoever told all of them."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.local.jobs import Job, eventually, finished, left, lines, log_has, now, shell
from trainer_infra.local import runs
from trainer_infra.runs.run import Run, RunKey

GO = "../../../../claims/go"
TRAINING = (
    f"trap 'echo saved; exit 0' TERM; echo on; until [ -e {GO} ]; do sleep 0.02; done; echo end"
)
FAILS_ONCE = (
    f"if [ $JOB_COMPLETION_INDEX = 1 ] && [ ! -e {GO}2 ]; then sleep 0.2; touch {GO}2; exit 1; fi; "
)
NODES = ("tj-node-0-0", "tj-node-0-1")


def go(home: Path) -> None:
    (home / "runs" / "default" / "tj" / "claims" / "go").touch()


def all_on(run: Run, times: int = 1) -> Callable[[], bool]:
    return lambda: all(lines(run, each).count("on") == times for each in NODES)


def test_a_suspended_run_trains_again_though_its_pods_ended_with_0(home: Path) -> None:
    run = Job(command=shell(TRAINING), nodes=2).submit()
    eventually(all_on(run))
    runs.suspend(RunKey("default", "tj", run.uid), True)
    eventually(lambda: all("saved" in lines(run, each) for each in NODES))
    runs.suspend(RunKey("default", "tj", run.uid), False)
    eventually(all_on(run, 2))
    assert now(run).phase == "Running"
    go(home)
    assert finished(run).phase == "Complete"
    assert [lines(run, each)[-1] for each in NODES] == ["end", "end"]


def test_a_restart_trains_again_though_the_other_pod_ended_with_0(home: Path) -> None:
    jobset = {"failurePolicy": {"maxRestarts": 1}}
    run = Job(command=shell(FAILS_ONCE + TRAINING), nodes=2, jobset=jobset).submit()
    eventually(log_has(run, "saved"))
    eventually(lambda: lines(run, NODES[0]) == ["on", "saved", "on"])
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
    eventually(all_on(run))
    for each in order(left(run)):
        os.kill(each.pid, signal.SIGTERM)
    run = finished(run)
    assert (run.phase, run.reason) == ("Failed", "SupervisorLost")
    eventually(lambda: left(run) == [])
