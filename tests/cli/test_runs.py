"""`trainer-infra get`, `logs` and `delete`: what is there, what it wrote, and away with it."""

import json

import pytest
import yaml

from tests.cli.command import Command, interrupt

TRAIN = """
def train():
    import os
    from trainer_infra.report import report
    for line in ("first", "last"):
        print(line, "of", os.environ["JAX_PROCESS_ID"], flush=True)
    report(progress=100, loss=0.5)
"""


SHOWN = {
    "Name": "digits",
    "Namespace": "team",
    "Declared by": "`trainer-infra run`",
    "Phase": "Complete",
    "Progress": "100%",
    "Metrics": "loss=0.5",
}


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
    said = "no runs in namespace default on this machine\n"
    assert (empty.code, empty.out, empty.err) == (0, "", said)


def rows(text: str) -> list[list[str]]:
    """The cells of each line."""
    return [line.split() for line in text.splitlines()]


def test_get_of_one_run_shows_conditions_nodes_and_steps(done: Command) -> None:
    lines = done("get", "digits", "-n", "team").out.splitlines()
    assert lines[1].startswith("team")
    assert "metrics: loss=0.5" in lines
    assert "condition: Complete=True AllJobsCompleted: jobset completed successfully" in lines
    assert rows("\n".join(lines[-6:])) == [
        ["STEP", "POD", "PHASE", "RESTARTS", "PROGRESS", "METRICS"],
        ["node", "digits-node-0-0", "Succeeded", "0", "100%", "loss=0.5"],
        ["node", "digits-node-0-1", "Succeeded", "0", "100%", "loss=0.5"],
        [],
        ["STEP", "READY", "ACTIVE", "SUCCEEDED", "FAILED", "SUSPENDED"],
        ["node", "0", "0", "1", "0", "0"],
    ]


def test_describe_shows_what_a_run_is_and_what_it_is_made_of(done: Command) -> None:
    text = done("describe", "digits", "-n", "team").out
    facts, conditions, steps, nodes = text.split("\n\n")
    known = dict(line.split(":", 1) for line in facts.splitlines())
    assert {name: value.strip() for name, value in known.items() if name in SHOWN} == SHOWN
    assert rows(conditions)[0] == ["Conditions:"]
    assert rows(conditions)[2][:3] == ["Complete", "True", "AllJobsCompleted"]
    assert rows(steps)[2] == ["node", "0", "0", "1", "0", "0"]
    assert rows(nodes)[0] == ["Nodes:"]
    assert len(rows(nodes)) == 4


def test_get_writes_json_and_yaml_of_the_same_fields(done: Command) -> None:
    one = json.loads(done("get", "digits", "-n", "team", "-o", "json").out)
    assert one == yaml.safe_load(done("get", "digits", "-n", "team", "-o", "yaml").out)
    assert {"items": [one]} == json.loads(done("get", "-A", "-o", "json").out)
    assert (one["phase"], one["owner"], one["failure"], one["waitingFor"]) == (
        "Complete",
        {"project": "", "stack": "", "urn": "", "backend": ""},
        None,
        "",
    )
    assert one["nodes"][1] == {
        "pod": "digits-node-0-1",
        "phase": "Succeeded",
        "progress": 100,
        "metrics": {"loss": "0.5"},
        "restarts": 0,
        "step": "node",
        "host": "",
        "gpus": 0,
        "keptBy": [],
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
    for command in ("get", "describe", "logs", "suspend", "resume", "delete"):
        # What a name begins with is enough to read; to change, the name is proposed.
        wanted = "digist" if command in {"get", "describe", "logs"} else "digit"
        found = done(command, wanted, "-n", "team")
        missing = (
            f"there is no run '{wanted}' in namespace team on this machine; did you mean digits?\n"
        )
        assert (found.code, found.out, found.err) == (1, "", missing)
    assert done("get", "other", "-n", "team").err == (
        "there is no run 'other' in namespace team on this machine; its runs are: digits\n"
    )
    assert done("get", "digits").err == (
        "there is no run 'digits' in namespace default on this machine; its runs are: none; "
        "namespace team has one of that name\n"
    )


def test_a_run_that_has_ended_cannot_be_suspended(done: Command) -> None:
    found = done("suspend", "digits", "-n", "team")
    said = "digits has ended as Complete and cannot be suspended\n"
    assert (found.code, found.out, found.err) == (1, "", said)


def test_delete_is_all_or_nothing_and_idempotent_when_asked(done: Command) -> None:
    assert done("delete", "digits", "other", "-n", "team").code == 1
    assert done.phases() == {"digits": "Complete"}
    gone = done("delete", "digits", "other", "-n", "team", "--ignore-not-found")
    assert (gone.code, gone.out, gone.err) == (0, "digits deleted\n", "")
    assert done.runs() == []
    assert done("delete", "digits", "-n", "team", "--ignore-not-found").code == 0


def test_a_suspended_run_goes_on_when_it_is_resumed_and_its_log_ends_with_it(cli: Command) -> None:
    cli.write("slow.py", "def train():\n    import time\n    time.sleep(4)\n    print('done')\n")
    assert cli("run", "slow.py:train", "--runtime", "jax-distributed", "--detach").code == 0
    assert cli("suspend", "slow").out == "slow suspended\n"
    assert cli.phases() == {"slow": "Suspended"}

    following = cli.start("logs", "-f", "slow")
    assert cli("resume", "slow").out == "slow resumed\n"
    out, _ = following.communicate(timeout=600)
    assert (following.returncode, out) == (0, "node-0-0: done\n")
    assert cli.phases() == {"slow": "Complete"}


def test_a_log_that_is_followed_ends_with_ctrl_c_and_without_a_word(cli: Command) -> None:
    begins = "import time\n    print('begun', flush=True)\n    time.sleep(600)\n"
    cli.write("slow.py", f"def train():\n    {begins}")
    assert cli("run", "slow.py:train", "--detach").code == 0
    following = cli.start("logs", "-f", "slow")
    assert following.stdout is not None
    assert following.stdout.readline() == "node-0-0: begun\n"
    ended = interrupt(following)
    assert (ended.code, ended.out, ended.err) == (130, "", "")


def test_a_failed_run_is_described_with_its_last_lines(cli: Command) -> None:
    cli.write("bad.py", "def train():\n    raise SystemExit('no data')\n")
    assert cli("run", "bad.py:train", "--runtime", "jax-distributed").code == 1
    assert cli("describe", "bad").out.split("\n\n")[-1].splitlines() == [
        "Failure:",
        "  pod bad-node-0-0: Error, exit code 1",
        "  the last lines:",
        "    no data",
    ]
