"""suspend and resume."""

from pathlib import Path

from tests.local.jobs import Job, eventually, finished, lines, log_has, now, shell
from trainer_infra.local import runs
from trainer_infra.runs.run import RunKey

COMMAND = shell("echo on; until [ -e ../../../../claims/go ]; do sleep 0.02; done")


def test_a_suspended_run_has_no_pods_and_starts_anew_when_resumed(home: Path) -> None:
    run = Job(command=COMMAND).submit()
    eventually(log_has(run, "on"))
    suspended = runs.suspend(RunKey("default", "tj", run.uid), True)

    assert suspended.phase == "Suspended"
    assert suspended.status["conditions"] == [
        {
            "type": "Suspended",
            "status": "True",
            "reason": "Suspended",
            "message": "TrainJob is suspended",
            "lastTransitionTime": suspended.status["conditions"][0]["lastTransitionTime"],
        }
    ]
    eventually(lambda: now(run).status["jobsStatus"][0]["active"] == 0)

    (home / "runs" / "default" / "tj" / "claims" / "go").touch()
    assert runs.suspend(RunKey("default", "tj", run.uid), False).phase in {"Running", "Complete"}
    assert finished(run).phase == "Complete"
    assert lines(run) == ["on", "on"]


def test_a_run_submitted_suspended_waits() -> None:
    run = Job(command=["true"], spec={"suspend": True}).submit()
    eventually(lambda: now(run).phase == "Suspended")
    assert lines(run) == []

    runs.suspend(RunKey("default", "tj", run.uid), False)
    assert finished(run).phase == "Complete"


def test_a_finished_run_stays_as_it_is() -> None:
    run = finished(Job(command=["true"]).submit())

    assert runs.suspend(RunKey("default", "tj", run.uid), True).phase == "Complete"
