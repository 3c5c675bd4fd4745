"""SIGKILL of the supervisor, of its guard, of both: nothing is left, and the run says so."""

import os
import signal
from typing import Any

import pytest

from tests.local.jobs import Job, eventually, finished, left, log_has, now, shell
from trainer_infra.local import run_folder
from trainer_infra.runs.run import Run

FAMILY = shell("setsid sh -c 'echo grandchild; sleep 60' & sh -c 'sleep 60' & echo on; wait")


def pids(run: Run) -> dict[str, Any]:
    found = run_folder.read_json(run_folder.folder_of(run.namespace, run.name).identities)
    assert found is not None
    return {role: each["pid"] for role, each in found.items()}


@pytest.fixture
def run() -> Run:
    run = Job(command=FAMILY, nodes=2).submit()
    eventually(log_has(run, "grandchild"))
    return run


def test_a_killed_supervisor_is_a_failed_run_without_processes(run: Run) -> None:
    os.kill(pids(run)["supervisor"], signal.SIGKILL)
    run = finished(run)

    assert (run.phase, run.reason, run.message) == (
        "Failed",
        "SupervisorLost",
        (
            f"pod tj-node-0-0: its node was lost: the supervisor on {run.host} ended with signal SIGKILL while the run was unfinished; "
            "its processes were ended, run it again"
        ),
    )
    assert [each["reason"] for each in run.status["conditions"]] == ["SupervisorLost"]
    eventually(lambda: left(run) == [])


def test_a_killed_guard_ends_the_run_too(run: Run) -> None:
    os.kill(pids(run)["guard"], signal.SIGKILL)
    run = finished(run)

    assert (run.phase, run.reason) == ("Failed", "SupervisorLost")
    eventually(lambda: left(run) == [])


def test_when_both_are_killed_the_next_look_cleans_up(run: Run) -> None:
    found = pids(run)
    os.kill(found["guard"], signal.SIGSTOP)
    os.kill(found["supervisor"], signal.SIGKILL)
    os.kill(found["guard"], signal.SIGKILL)
    run = eventually(lambda: each if (each := now(run)).phase == "Failed" else None)

    assert (run.reason, run.message) == (
        "SupervisorLost",
        (
            f"pod tj-node-0-0: its node was lost: the supervisor on {run.host} and its guard are gone while the run was unfinished; "
            "its processes were ended, run it again"
        ),
    )
    assert left(run) == []


def test_a_supervisor_asked_to_end_stops_its_pods_and_says_so(run: Run) -> None:
    os.kill(pids(run)["supervisor"], signal.SIGTERM)
    run = finished(run)

    assert (run.phase, run.reason) == ("Failed", "SupervisorLost")
    assert "signal SIGTERM" in run.message
    eventually(lambda: left(run) == [])
