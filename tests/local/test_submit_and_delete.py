"""Exactly one run per name: submit twice, after a kill, for somebody else; and delete."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.local.jobs import (
    Job,
    eventually,
    finished,
    left,
    lines,
    log_has,
    now,
    shell,
    supervision,
)
from trainer_infra.errors import InvalidInput, NotAvailable, Refused
from trainer_infra.local import run_folder, runs
from trainer_infra.local.supervision import end_supervisor
from trainer_infra.runs.run import Owner, RunKey

SLEEP = Job(command=shell("echo on; sleep 60"))
OTHER = Owner("proj", "prod", "urn:other")


def test_the_same_content_of_the_same_owner_is_the_same_run() -> None:
    first = SLEEP.submit()
    again = SLEEP.submit()

    assert again.uid == first.uid
    assert len(runs.list_runs().runs) == 1


def test_a_submit_that_was_killed_before_the_supervisor_started_is_repaired() -> None:
    run = SLEEP.submit()
    target = run_folder.folder_of("default", "tj")
    end_supervisor(target, 5)  # back to what a killed submit leaves: a record, no status
    target.status.unlink()
    shutil.rmtree(target.pods)
    target.pods.mkdir()
    assert runs.get("default", "tj") == replace(
        run, phase="Created", started="", nodes=(), status={}
    )

    again = SLEEP.submit()
    assert again.uid == run.uid
    eventually(lambda: now(run).phase == "Running")


SUBMIT = """
from tests.local.jobs import Job, shell
Job(command=shell("echo on; sleep 60")).submit()
"""


@pytest.mark.parametrize(
    "seen", ["runs/.new-*", "runs/default/tj/run.json", "runs/*/tj/supervisor.lock"]
)
def test_after_a_submit_killed_anywhere_the_next_one_makes_exactly_one_run(
    home: Path, seen: str
) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", SUBMIT], cwd=root) as submitting:
        eventually(lambda: list(home.glob(seen)) or list(home.glob("runs/default/tj")))
        submitting.kill()
    run = SLEEP.submit()

    eventually(log_has(run, "on"))
    # A second one that the killed submit began gives up at the lock.
    eventually(lambda: len(supervision(run)) == 2)
    assert lines(run) == ["on"]
    assert list(home.glob("runs/.new-*")) == []


def test_submits_at_the_same_time_make_one_run() -> None:
    submission = SLEEP.submission()
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda _: runs.submit(submission), range(4)))

    assert len({run.uid for run in done}) == 1
    eventually(log_has(done[0], "on"))
    assert lines(done[0]) == ["on"]


def test_a_run_of_another_owner_is_refused_by_name_unless_adopted() -> None:
    first = SLEEP.submit()
    submission = replace(SLEEP.submission(), owner=OTHER)
    with pytest.raises(Refused) as refused:
        runs.submit(submission)
    assert str(refused.value) == (
        "run default/tj exists and belongs to urn:pulumi:dev::proj::job of stack dev of project "
        "proj; choose another name, delete it, or set adopt=True to take its place"
    )

    adopted = runs.submit(submission, adopt=True)
    assert (adopted.uid, adopted.owner) == (first.uid, OTHER)
    assert now(first).owner == OTHER


def test_other_content_is_refused_unless_it_takes_the_place() -> None:
    first = SLEEP.submit()
    submission = replace(SLEEP.submission(), content="c2")
    with pytest.raises(Refused) as refused:
        runs.submit(submission)
    assert str(refused.value) == (
        "run default/tj exists with other content; choose another name, delete it, or set "
        "adopt=True to take its place"
    )

    second = runs.submit(submission, adopt=True)
    assert second.uid != first.uid
    assert left(first) == []
    assert runs.get("default", "tj", first.uid) is None


def test_delete_leaves_no_process_and_no_folder(home: Path) -> None:
    run = SLEEP.submit()
    eventually(log_has(run, "on"))

    assert runs.delete(RunKey("default", "tj", run.uid)) == ""
    assert left(run) == []
    assert sorted(path.name for path in (home / "runs").rglob("*")) == ["default"]
    assert list((home / "locks").iterdir()) == []
    assert runs.get("default", "tj") is None
    assert runs.delete(RunKey("default", "tj", run.uid)) == ""


def test_delete_ends_a_supervisor_that_does_not_answer() -> None:
    run = SLEEP.submit()
    eventually(log_has(run, "on"))
    found = run_folder.read_json(run_folder.folder_of("default", "tj").identities)
    assert found is not None
    os.kill(found["supervisor"]["pid"], signal.SIGSTOP)

    assert runs.delete(RunKey("default", "tj", run.uid), timeout=0.2) == ""
    assert left(run) == []


def test_delete_acts_only_on_the_uid_it_is_given() -> None:
    run = SLEEP.submit()

    assert runs.delete(RunKey("default", "tj", "another")) == ""
    assert now(run).uid == run.uid


def test_a_port_in_use_is_refused_before_anything_is_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        submission = SLEEP.submission()
        pod = submission.objects[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": port}]
        with pytest.raises(InvalidInput) as invalid:
            runs.submit(submission)

    assert str(invalid.value) == (
        "JobSet tj: spec.replicatedJobs[0].template.spec.template.spec.containers[0].ports: "
        f"container node wants a port that is in use on this machine, got {port}; "
        "declare another port, or end the program that listens on it"
    )
    assert runs.list_runs().runs == ()


def test_a_supervisor_that_cannot_start_leaves_nothing() -> None:
    submission = SLEEP.submission()
    broken = replace(submission, runtime={**submission.runtime, "spec": 1})
    with pytest.raises(NotAvailable, match="the supervisor of run default/tj did not start: "):
        runs.submit(broken)

    assert runs.list_runs().runs == ()


def test_runs_are_listed_by_namespace_and_name() -> None:
    for name in ("b", "a"):
        Job(command=["true"], name=name).submit()

    assert [run.name for run in runs.list_runs().runs] == ["a", "b"]
    assert runs.list_runs("other").runs == ()


def test_folders_and_secrets_are_for_the_owner_only() -> None:
    pod = {"volumes": [{"name": "s", "secret": {"secretName": "tj-secret"}}]}
    secret = {"kind": "Secret", "metadata": {"name": "tj-secret"}, "stringData": {"k": "<secret>"}}
    job = replace(SLEEP, command=["true"], secrets={"k": "v"}, pod=pod, objects=[secret])
    target = run_folder.folder_of("default", finished(job.submit()).name)
    private = [target.secrets, target.record, *target.progress.iterdir()]
    mounted = list(target.pods.rglob("volumes/s/k"))

    assert target.path.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in [*private, *mounted]} == {
        "secrets.json": 0o600,
        "record.json": 0o600,
        "server.pem": 0o600,
        "ca.crt": 0o600,
        "tj-node-0-0.token": 0o600,
        "k": 0o600,
    }
    assert [path.read_text() for path in mounted] == ["v"]


def test_folders_that_are_removed_at_once_are_all_gone() -> None:
    targets = [run_folder.folder_of("default", f"tj-{index}") for index in range(200)]
    for each in targets:
        run_folder.create_folder(each, {}, {}, {})
    with ThreadPoolExecutor(8) as workers:
        list(workers.map(run_folder.remove_folder, targets))
    assert [each.path for each in targets if each.path.exists()] == []
    assert list(targets[0].path.parent.parent.glob(".*")) == []
