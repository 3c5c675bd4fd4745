"""A run that failed runs again, as the same run."""

import time
from pathlib import Path

import pytest

from tests.local.jobs import OWNER, Job, eventually, finished, left, lines, now, shell
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.local import runs, target
from trainer_infra.runs.run import Owner, RunKey


def failing_once(tmp_path: Path) -> Job:
    """Ends well once there is a file."""
    return Job(command=shell(f"echo try; test -e {tmp_path}/mended"))


def test_a_failed_run_runs_again_as_the_same_run(tmp_path: Path) -> None:
    failed = finished(failing_once(tmp_path).submit())
    assert failed.phase == "Failed"
    (tmp_path / "mended").touch()

    again = target.retry_run(RunKey("default", "tj", failed.uid, OWNER))

    assert (again.uid, again.created) == (failed.uid, failed.created)
    assert finished(again).phase == "Complete"
    assert lines(again) == ["try"], "the lines are those of the new try"
    assert failing_once(tmp_path).submit().phase == "Complete", "the same content is the same run"


def test_a_run_whose_supervisor_was_killed_runs_again(tmp_path: Path) -> None:
    run = Job(command=shell(f"test -e {tmp_path}/mended || sleep 60")).submit()
    eventually(lambda: now(run).phase == "Running")
    for process in left(run):
        process.kill()
    eventually(lambda: now(run).phase == "Failed")
    (tmp_path / "mended").touch()

    assert finished(target.retry_run(RunKey("default", "tj", run.uid))).phase == "Complete"


def test_a_run_whose_deadline_passed_has_the_whole_time_again(tmp_path: Path) -> None:
    command = shell(f"test -e {tmp_path}/mended || sleep 60")
    failed = finished(Job(command=command, spec={"activeDeadlineSeconds": 2}).submit())
    assert failed.reason == "DeadlineExceeded"
    (tmp_path / "mended").touch()
    time.sleep(2)

    assert (
        finished(target.retry_run(RunKey("default", "tj", failed.uid, OWNER))).phase == "Complete"
    )


def test_what_has_not_failed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mended").touch()
    run = failing_once(tmp_path).submit()
    finished(run)
    with pytest.raises(Refused, match="tj has not failed, it is complete; raise attempt"):
        target.retry_run(RunKey("default", "tj", run.uid))
    with pytest.raises(NotAvailable, match="there is no run default/other"):
        target.retry_run(RunKey("default", "other", ""))


def test_a_run_of_another_owner_is_left_alone(tmp_path: Path) -> None:
    failed = finished(failing_once(tmp_path).submit())
    with pytest.raises(Refused, match="belongs to"):
        target.retry_run(RunKey("default", "tj", failed.uid, Owner("proj", "prod", "urn:other")))
    assert runs.get("default", "tj") == failed
