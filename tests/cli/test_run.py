"""`trainer-infra run`: one TrainJob on this machine, followed to its end."""

import json

import pytest

from tests import terminal
from tests.cli.command import PROGRAM, Command, interrupt, until
from tests.local.package_index import Package

TRAIN = """
def train(epochs=2, pause=0.0):
    import os, time
    from trainer_infra.report import report
    rank = os.environ["JAX_PROCESS_ID"]
    for epoch in range(epochs):
        print(f"epoch {epoch} of rank {rank} in {os.environ.get('PLACE')}", flush=True)
        report(progress=100 * (epoch + 1) / epochs, loss=0.5)
        time.sleep(pause)
"""
SCRIPT = """
import sys
print("words", sys.argv[1:], flush=True)
sys.exit(int(sys.argv[1]))
"""
PLAIN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: NAME}
spec:
  runtimeRef: {name: plain}
  trainer: {command: [sh, -c, "echo node $(JOB_COMPLETION_INDEX); exit CODE"], numNodes: 2}
---
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: plain}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      failurePolicy: {maxRestarts: 0}
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec: {restartPolicy: Never, containers: [{name: node, image: busybox}]}
"""
INTERRUPTED = (
    "interrupted: ending digits; when interrupted again, end it with `trainer-infra delete digits`"
)
SUBMITTED = """\
digits is submitted
follow it:         trainer-infra logs -f digits
end and remove it: trainer-infra delete digits
"""
RUNNING = (
    "run digits is still running something else; wait for it, end it with "
    "`trainer-infra delete digits`, or choose another --name\n"
)
JAX = ("--runtime", "jax-distributed")
ADVISED = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: job}}
spec:
  runtimeRef: {{name: plain-distributed}}
  trainer: {{command: [bash, {}]}}
"""
ETA = """
def train():
    import time
    from pathlib import Path
    from trainer_infra.report import report
    report(progress=10, remaining=3000)
    while not Path("FOLDER/go").exists():
        time.sleep(0.05)
"""
LISTED = "`trainer-infra catalog` lists all"


def test_a_function_runs_on_every_node_with_its_arguments(cli: Command) -> None:
    cli.write("digits.py", TRAIN)
    done = cli(
        "run", "digits.py:train", *JAX, "--nodes", "2", "--arg", "epochs=1", "--env", "PLACE=a b"
    )
    assert (done.code, sorted(done.out.splitlines())) == (
        0,
        ["node-0-0: epoch 0 of rank 0 in a b", "node-0-1: epoch 0 of rank 1 in a b"],
    )
    told = done.err.splitlines()
    assert told[-2] == "digits: complete, node-0-0 100% loss=0.5, node-0-1 100% loss=0.5"
    assert told[-1].startswith("digits is complete after ")
    assert cli.phases() == {"digits": "Complete"}


def test_a_failed_run_ends_with_1_and_its_last_lines(cli: Command) -> None:
    cli.write("script.py", SCRIPT)
    done = cli("run", "script.py", *JAX, "--", "3", "--rate", "0.1")
    assert done.code == 1
    assert done.out == "node-0-0: words ['3', '--rate', '0.1']\n"
    assert done.err.splitlines()[-3:] == [
        (
            "TrainJob script failed: jobset failed due to one or more job failures (first failed job: "
            "script-node-0); pod script-node-0-0: container node ended with exit code 3"
        ),
        "the last lines of script-node-0-0:",
        "  words ['3', '--rate', '0.1']",
    ]


@pytest.mark.soak
def test_a_finished_run_of_that_name_is_replaced(cli: Command) -> None:
    cli.write("script.py", SCRIPT)
    assert cli("run", "script.py", *JAX, "--", "3").code == 1
    done = cli("run", "script.py", *JAX, "--", "0")
    assert done.code == 0
    assert done.err.splitlines()[0] == "replacing run script, which ended as Failed"
    assert cli.phases() == {"script": "Complete"}


def test_a_yaml_file_brings_its_runtime(cli: Command) -> None:
    cli.write("jobs.yaml", PLAIN.replace("NAME", "good").replace("CODE", "0") + RUNTIME)
    done = cli("run", "jobs.yaml", "-n", "team")
    assert (done.code, sorted(done.out.splitlines())) == (
        0,
        ["node-0-0: node 0", "node-0-1: node 1"],
    )
    assert [(each["namespace"], each["name"]) for each in cli.runs()] == [("team", "good")]


def test_one_of_several_train_jobs_is_chosen_by_name(cli: Command) -> None:
    first = PLAIN.replace("NAME", "first").replace("CODE", "0")
    second = PLAIN.replace("NAME", "second").replace("CODE", "4")
    cli.write("jobs.yaml", first + second + RUNTIME)

    unsaid = cli("run", "jobs.yaml")
    assert (unsaid.code, unsaid.out) == (1, "")
    assert unsaid.err == "jobs.yaml: holds 2 TrainJobs; choose one with --name: first, second\n"
    wrong = cli("run", "jobs.yaml", "--name", "third")
    assert wrong.err == (
        "--name: is not a TrainJob of jobs.yaml, got 'third'; it holds first, second\n"
    )

    assert cli("run", "jobs.yaml", "--name", "second").code == 1
    assert cli.phases() == {"second": "Failed"}


def test_ctrl_c_ends_the_run(cli: Command) -> None:
    cli.write("digits.py", TRAIN)
    process = cli.start("run", "digits.py:train", *JAX, "--arg", "epochs=99", "--arg", "pause=1")
    until(lambda: cli.phases() == {"digits": "Running"})
    done = interrupt(process)
    assert done.code == 130
    assert done.err.splitlines()[-2:] == [
        INTERRUPTED,
        "digits is ended and removed",
    ]
    assert cli.runs() == []


def test_a_detached_run_goes_on_and_is_followed_by_the_same_command(cli: Command) -> None:
    cli.write("digits.py", TRAIN)
    slow = ("run", "digits.py:train", *JAX, "--arg", "epochs=99", "--arg", "pause=1")
    done = cli(*slow, "--detach")
    assert (done.code, done.out) == (0, SUBMITTED)
    other = cli("run", "digits.py:train", *JAX)
    assert (other.code, other.err) == (1, RUNNING)

    process = cli.start(*slow)
    assert process.stderr is not None
    assert process.stderr.readline() == "digits is running already; following it\n"
    assert cli("delete", "digits").out == "digits deleted\n"
    _, told = process.communicate(timeout=600)
    assert process.returncode == 1
    # Which of the two is seen depends on how far the deletion is.
    ends = ("run digits is gone: it was deleted", "TrainJob digits failed: pod digits-node-0-0: ")
    assert told.splitlines()[-1].startswith(ends)


def test_problems_of_the_code_are_told_at_once_and_nothing_runs(cli: Command) -> None:
    cli.write("bad.py", "def train(rate):\n    print(rate)\n")
    done = cli("run", "bad.py:train", *JAX, "--nodes", "0", "--package", "numpy")
    assert (done.code, done.out) == (1, "")
    for word in ("func_args.rate", "num_nodes", "numpy"):
        assert word in done.err
    assert "Traceback" not in done.err
    assert cli.runs() == []


def test_a_python_file_runs_on_the_plain_runtime_unless_one_is_named(cli: Command) -> None:
    cli.write("plain.py", "import os\nprint('index', os.environ['JOB_COMPLETION_INDEX'])\n")
    done = cli("run", "plain.py", "--nodes", "2")
    assert sorted(done.out.splitlines()) == ["node-0-0: index 0", "node-0-1: index 1"]
    first = "running on plain-distributed; --runtime names another of `trainer-infra catalog`"
    assert (done.err.splitlines()[0], done.err.count(first)) == (first, 1)
    named = cli("run", "plain.py", "--runtime", "plain-distributed")
    assert (named.code, first in named.err) == (0, False)


def test_a_lock_file_is_installed_exactly(cli: Command) -> None:
    amber = Package("amber", needs=("zinc",))
    (cli.folder / amber.file).write_bytes(amber.wheel())
    origin = f"--no-index\n--find-links {cli.folder}\n"
    cli.write("own.lock", f"{origin}amber==1.0 --hash=sha256:{amber.sha256()}\n")
    cli.write("plain.py", "import amber\nprint('amber', amber.VERSION)\n")
    done = cli("run", "plain.py", "--package", "own.lock")
    assert (done.code, done.out) == (0, "node-0-0: amber 1.0\n"), done.err


@pytest.mark.soak
def test_a_file_of_another_kind_is_told_what_to_do(cli: Command) -> None:
    kinds = (
        "is not one of the files that `run` takes: a Python file (FILE.py, FILE.py:FUNCTION), a folder "
        "(FOLDER:FILE.py), or a TrainJob in .yaml, .yml, .json or stdin (-)"
    )
    script = cli.folder / "train"
    for name, text in (("train.sh", "echo a\n"), ("train", "#!/usr/bin/env bash\necho a\n")):
        script = cli.folder / cli.write(name, text)
        done = cli("run", name)
        assert (done.code, done.out) == (2, "")
        assert f"{name} {kinds}; for a shell script write a TrainJob whose " in done.err
        assert f"spec.trainer.command is [bash, {script}]" in done.err
    done = cli("run", cli.write("notes.txt", "hello\n"))
    assert done.err.splitlines()[-1] == f"Error: Invalid value: notes.txt {kinds}"

    # The advice works.
    cli.write("job.yaml", ADVISED.format(script))
    assert cli("run", "job.yaml").out == "node-0-0: a\n"
    code = f'import subprocess\nsubprocess.run(["bash", "{script}"], check=True)\n'
    assert cli("run", cli.write("wrapped.py", code)).out == "node-0-0: a\n"


def test_the_time_that_remains_is_shown_until_the_end(cli: Command) -> None:
    cli.write("eta.py", ETA.replace("FOLDER", str(cli.folder)))
    following = cli.start("run", "eta.py:train")
    until(lambda: cli.phases() == {"eta": "Running"} and "remaining" in cli("get", "eta").out)
    assert "\nremaining: 50m\n" in cli("get", "eta").out
    assert "\nRemaining:    50m\n" in cli("describe", "eta").out
    found = json.loads(cli("get", "eta", "-o", "json").out)
    assert found["status"]["trainerStatus"]["estimatedRemainingSeconds"] == 3000
    (cli.folder / "go").touch()
    _, told = following.communicate(timeout=600)
    assert "eta: running, 50m left, node-0-0 10%" in told.splitlines()
    assert "remaining" not in cli("get", "eta").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["train.py", "--runtime", "jax"],
            f"--runtime jax is not in the catalog: did you mean jax-distributed? {LISTED}",
        ),
        (
            ["jobs.yaml", "--nodes", "2", "--arg", "a=1", "--", "word"],
            "--nodes, --arg, ARGS: only for a Python file; a TrainJob has it in its spec",
        ),
        (["train.py", *JAX, "--env", "PLACE"], "--env wants KEY=VALUE, got 'PLACE'"),
    ],
)
def test_options_that_do_not_fit_end_with_2(cli: Command, arguments: list[str], told: str) -> None:
    done = cli("run", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1] == f"Error: Invalid value: {told}"


def test_a_terminal_shows_a_bar_per_node_below_the_lines(cli: Command) -> None:
    cli.write("digits.py", TRAIN)
    arguments = [PROGRAM, "run", "digits.py:train", *JAX, "--nodes", "2", "--arg", "pause=0.3"]
    code, shown = terminal.drawn(arguments, cli.folder, {**cli.env, "TERM": "xterm"})
    assert code == 0
    lines = [line.rstrip() for line in shown.replace("\r", "\n").split("\n")]
    assert any(
        "node-0-1: " in line and line.endswith("epoch 1 of rank 1 in None") for line in lines
    )
    assert any("node-0-1" in line and "━" in line and "loss=0.5" in line for line in lines)
    assert [line for line in lines if line][-1].endswith(": loss=0.5")
