"""How a run fails, what it says, and what is tried again."""

import os
import signal
from pathlib import Path

from tests.local.jobs import Job, eventually, finished, left, lines, log_has, now, python, shell
from trainer_infra.local import runs
from trainer_infra.runs.run import Failure


def test_a_failed_run_names_pod_exit_code_and_last_lines() -> None:
    run = finished(Job(command=shell("echo one; echo two >&2; exit 42"), nodes=1).submit())

    assert (run.phase, run.reason, run.message) == (
        "Failed",
        "FailedJobs",
        (
            "jobset failed due to one or more job failures (first failed job: tj-node-0); "
            "pod tj-node-0-0: container node ended with exit code 42"
        ),
    )
    assert run.failure == Failure("tj-node-0-0", "Error", 42, ("one", "two"))
    eventually(lambda: left(run) == [])


def test_only_the_last_twenty_lines_are_kept() -> None:
    run = finished(Job(command=shell("seq 1 100; printf end; exit 1")).submit())

    assert run.failure is not None
    assert run.failure.last_lines == (*map(str, range(82, 101)), "end")


def test_a_killed_second_node_fails_the_run_and_ends_the_first() -> None:
    run = Job(command=shell("echo pid $$$$; sleep 60"), nodes=2).submit()
    eventually(log_has(run, "pid"))
    said = eventually(lambda: lines(run, "tj-node-0-1"))
    os.kill(int(said[0].split()[1]), signal.SIGKILL)
    run = finished(run)

    assert (run.phase, run.message) == (
        "Failed",
        (
            "jobset failed due to one or more job failures (first failed job: tj-node-0); "
            "pod tj-node-0-1: container node ended with exit code 137: "
            "killed (SIGKILL), commonly for memory: let it use less, or give it more"
        ),
    )
    eventually(lambda: left(run) == [])
    assert [node.phase for node in now(run).nodes] == ["Failed", "Failed"]


def test_a_program_that_does_not_exist_fails_with_its_name() -> None:
    run = finished(Job(command=["no-such-program"]).submit())

    assert run.phase == "Failed"
    assert run.failure is not None
    assert (run.failure.reason, run.failure.exit_code) == ("StartError", 128)
    assert run.message == (
        "jobset failed due to one or more job failures (first failed job: tj-node-0); "
        "pod tj-node-0-0: container node cannot start with exit code 128: "
        "[Errno 2] No such file or directory: 'no-such-program'"
    )


def test_a_failed_pod_is_tried_again_as_its_policy_says(tmp_path: Path) -> None:
    count = tmp_path / "count"
    code = shell(f"echo x >> {count}; [ $(wc -l < {count}) -ge 2 ]")
    job = Job(command=code)
    submission = job.submission()
    for each in (submission.runtime["spec"]["template"], submission.objects[-1]):
        each["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 2
    run = finished(runs.submit(submission))
    assert run.phase == "Complete"
    assert [(node.phase, node.restarts) for node in run.nodes] == [("Succeeded", 1)]


def test_a_failed_jobset_is_restarted_as_its_policy_says() -> None:
    job = Job(command=shell("echo $PET_MASTER_PORT; exit 1"))
    job.jobset = {"failurePolicy": {"maxRestarts": 1}}
    run = finished(job.submit())

    assert (run.phase, run.reason) == ("Failed", "ReachedMaxRestarts")
    assert len(set(lines(run))) == 2  # a new attempt has a new rendezvous port


def test_a_run_past_its_deadline_is_ended() -> None:
    run = Job(command=["sleep", "60"], spec={"activeDeadlineSeconds": 1}).submit()
    run = finished(run)

    assert (run.phase, run.reason, run.message) == (
        "Failed",
        "DeadlineExceeded",
        "TrainJob exceeded its active deadline of 1 s",
    )
    eventually(lambda: left(run) == [])


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace() -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on'); time.sleep(60)"
    job = Job(command=python(code), pod={"terminationGracePeriodSeconds": 0})
    job.spec = {"activeDeadlineSeconds": 1}
    run = finished(job.submit())

    eventually(lambda: left(run) == [], timeout=50)
