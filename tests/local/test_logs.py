"""Reading logs, all at once and as they come."""

from pathlib import Path

import pytest

from tests.local.jobs import Job, eventually, finished, lines, log_has, python, shell
from trainer_infra.errors import NotAvailable
from trainer_infra.local import run_folder, runs
from trainer_infra.runs.run import LogSelection, RunKey

KEY = RunKey("default", "tj")


def test_logs_are_read_pod_after_pod() -> None:
    run = finished(Job(command=shell("echo $PET_NODE_RANK; printf end"), nodes=2).submit())

    assert list(runs.logs(KEY, LogSelection())) == [
        ("tj-node-0-0", "0"),
        ("tj-node-0-0", "end"),
        ("tj-node-0-1", "1"),
        ("tj-node-0-1", "end"),
    ]
    assert lines(run, "tj-node-0-1") == ["1", "end"]
    assert list(runs.logs(KEY, LogSelection("tj-node-0-0", tail=1))) == [("tj-node-0-0", "end")]


def test_followed_logs_come_as_they_are_written_and_end_with_the_run(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    Job(command=shell(f"echo a; until [ -e {gate} ]; do sleep 0.02; done; printf b")).submit()
    stream = runs.logs(KEY, LogSelection(follow=True))

    assert next(stream) == ("tj-node-0-0", "a")
    gate.touch()
    assert list(stream) == [("tj-node-0-0", "b")]


def test_followed_logs_begin_with_the_tail(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    job = Job(command=shell(f"seq 1 9; until [ -e {go_on} ]; do sleep 0.05; done; echo 10"))
    eventually(log_has(job.submit(), "9"))

    followed = (line for _, line in runs.logs(KEY, LogSelection(follow=True, tail=2)))
    assert [next(followed), next(followed)] == ["8", "9"]
    go_on.touch()
    assert list(followed) == ["10"]


@pytest.mark.parametrize("tail", [0, 1, 3, 5000, 9000])
def test_of_a_long_log_the_last_lines_are_read(tail: int) -> None:
    code = "for n in range(6000): print(n, 'x' * (n % 50))"
    run = finished(Job(command=python(code)).submit())
    every = lines(run)
    assert len(every) == 6000
    found = [line for _, line in runs.logs(run.key, LogSelection(tail=tail))]
    assert found == every[max(0, len(every) - tail) :]
    assert [line for _, line in runs.logs(run.key, LogSelection(tail=tail, follow=True))] == found


def test_lines_of_containers_side_by_side_are_not_mixed() -> None:
    many = python("import sys\nfor _ in range(2000): print('x' * 50); sys.stdout.flush()")
    pod = {"initContainers": [{"name": "s", "restartPolicy": "Always", "command": many}]}
    run = finished(Job(command=many, pod=pod).submit())

    assert {line for line in lines(run) if "sidecar" not in line} == {"x" * 50}


def test_logs_of_what_is_not_there_say_so() -> None:
    with pytest.raises(NotAvailable, match="there is no run default/tj here"):
        runs.logs(KEY, LogSelection())
    finished(Job(command=["true"]).submit())
    with pytest.raises(NotAvailable) as missing:
        runs.logs(KEY, LogSelection("tj-node-0-7"))
    assert str(missing.value) == ("run default/tj has no pod tj-node-0-7; its pods are tj-node-0-0")


def test_values_of_secrets_that_a_program_prints_are_in_no_log_and_no_status(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    secret = {"kind": "Secret", "metadata": {"name": "tj-secret"}, "stringData": {"p": "<secret>"}}
    env = [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "tj-secret", "key": "p"}}}]
    code = f"echo using $P; until [ -e {gate} ]; do sleep 0.02; done; echo $P; exit 3"
    job = Job(command=shell(code), env=env, objects=[secret], secrets={"p": "planted-here"})
    run = job.submit()
    eventually(log_has(run, "using"))
    # The pod that runs keeps the value that it started with.
    runs.update_secrets(RunKey("default", "tj", run.uid), {"p": "planted-anew"})
    gate.touch()
    ended = finished(run)

    assert lines(run) == ["using <secret>", "<secret>"]
    assert ended.failure is not None
    assert ended.failure.last_lines == ("using <secret>", "<secret>")
    kept = run_folder.folder_of("default", "tj").path.rglob("*")
    texts = {each.name: each.read_bytes() for each in kept if each.is_file()}
    assert [name for name, text in texts.items() if b"planted" in text] == ["secrets.json"]
