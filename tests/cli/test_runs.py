"""`trainer-infra get`, `logs` and `delete`: what is there, what it wrote, and away with it."""

import json

import pytest
import yaml

from tests.cli.command import Command

TRAIN = """
def train():
    import os
    from trainer_infra.report import report
    for line in ("first", "last"):
        print(line, "of", os.environ["JAX_PROCESS_ID"], flush=True)
    report(progress=100, loss=0.5)
"""


@pytest.fixture(scope="module")
def done(shared_cli: Command) -> Command:
    """A folder with one finished run of two nodes, in namespace team."""
    shared_cli.write("digits.py", TRAIN)
    arguments = ("--runtime", "jax-distributed", "--nodes", "2", "-n", "team")
    run = shared_cli("run", "digits.py:train", *arguments)
    assert run.code == 0, run.err
    return shared_cli


def test_get_lists_runs(done: Command) -> None:
    head, row = done("get", "-A").out.splitlines()
    assert " ".join(head.split()) == "NAMESPACE NAME PHASE PROGRESS READY AGE STACK"
    cells = row.split()
    assert [*cells[:5], cells[6]] == ["team", "digits", "Complete", "100%", "2/2", "-"]
    empty = done("get")
    assert (empty.code, empty.out, empty.err) == (0, "", "no runs\n")


def test_get_of_one_run_shows_nodes_metrics_and_conditions(done: Command) -> None:
    lines = done("get", "digits", "-n", "team").out.splitlines()
    assert lines[1].startswith("team")
    assert "metrics: loss=0.5" in lines
    assert "node: node-0-0 100% loss=0.5" in lines
    assert "node: node-0-1 100% loss=0.5" in lines
    assert lines[-1] == ("condition: Complete=True AllJobsCompleted: jobset completed successfully")


def test_get_writes_json_and_yaml_of_the_same_fields(done: Command) -> None:
    one = json.loads(done("get", "digits", "-n", "team", "-o", "json").out)
    assert one == yaml.safe_load(done("get", "digits", "-n", "team", "-o", "yaml").out)
    assert {"items": [one]} == json.loads(done("get", "-A", "-o", "json").out)
    assert (one["phase"], one["owner"], one["failure"], one["waitingFor"]) == (
        "Complete",
        {"project": "", "stack": "", "urn": ""},
        None,
        "",
    )
    assert one["nodes"][1] == {
        "pod": "digits-node-0-1",
        "phase": "Succeeded",
        "progress": 100,
        "metrics": {"loss": "0.5"},
        "restarts": 0,
    }


def test_logs_name_the_pod_unless_one_is_asked_for(done: Command) -> None:
    assert sorted(done("logs", "digits", "-n", "team").out.splitlines()) == [
        "node-0-0: first of 0",
        "node-0-0: last of 0",
        "node-0-1: first of 1",
        "node-0-1: last of 1",
    ]
    for pod in ("node-0-1", "digits-node-0-1"):
        found = done("logs", "digits", "-n", "team", "--pod", pod, "-f", "--tail", "1")
        assert (found.code, found.out) == (0, "last of 1\n")


def test_an_unknown_pod_or_run_is_an_error_that_names_the_known(done: Command) -> None:
    pod = done("logs", "digits", "-n", "team", "--pod", "node-9")
    assert (pod.code, pod.err) == (
        1,
        "run team/digits has no pod node-9; its pods are digits-node-0-0, digits-node-0-1\n",
    )
    missing = "there is no run 'digit' in namespace team; its runs are: digits\n"
    for command in ("get", "logs", "delete"):
        found = done(command, "digit", "-n", "team")
        assert (found.code, found.out, found.err) == (1, "", missing)
    assert done("get", "digits").err == (
        "there is no run 'digits' in namespace default; its runs are: none; namespace team has "
        "one of that name\n"
    )


def test_delete_is_all_or_nothing_and_idempotent_when_asked(done: Command) -> None:
    assert done("delete", "digits", "other", "-n", "team").code == 1
    assert done.phases() == {"digits": "Complete"}
    gone = done("delete", "digits", "other", "-n", "team", "--ignore-not-found")
    assert (gone.code, gone.out, gone.err) == (0, "digits deleted\n", "")
    assert done.runs() == []
    assert done("delete", "digits", "-n", "team", "--ignore-not-found").code == 0
