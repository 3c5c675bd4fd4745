"""Runs that fail, and deployments that are interrupted: nothing is lost, nothing runs twice."""

import os
import re
import signal
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.deploy.project import Stack, interrupt, processes_of, read_until, until

WAITING = """
TrainJob("job", runtime="jax-distributed", wait_for="complete",
         trainer=CustomTrainer(train, func_args={{"seconds": {seconds}, "code": {code}}}, num_nodes=2))
"""
SUBMITTED = """
TrainJob("job", runtime="jax-distributed",
         trainer=CustomTrainer(train, func_args={"seconds": 900.0}, num_nodes=2))
"""


def training(folder: Path, *words: str) -> list[psutil.Process]:
    """The first process of each pod, whose parent is the supervisor."""
    return processes_of(folder, "init.py", *words)


def test_a_failed_run_fails_the_up_with_pod_code_and_last_lines(stack: Stack) -> None:
    stack.program(WAITING.format(seconds=0.0, code=42))

    shown = stack.up(ok=False)

    assert re.search(r"TrainJob job-[0-9a-f]{8} failed: .*pod job-[0-9a-f]{8}-node-0-[01]", shown)
    assert "42" in shown
    assert re.search(r"rank [01] of 2", shown)
    assert "Traceback" not in shown
    (run,) = stack.runs()
    uid = run["uid"]

    again = stack.up(ok=False)

    assert "container node ended" in again
    assert [each["uid"] for each in stack.runs()] == [uid]
    stack.run("destroy", "--yes")
    assert stack.runs() == []


def test_a_job_whose_second_node_is_killed_fails_and_says_so(
    cli_stack: Stack, tmp_path: Path
) -> None:
    cli_stack.program(WAITING.format(seconds=60.0, code=0))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        (victim,) = until(lambda: training(tmp_path, "JAX_PROCESS_ID=1"), pause=0.1)
        victim.kill()
        shown, _ = process.communicate(timeout=600)
    assert process.returncode != 0
    assert re.search(
        r"pod job-[0-9a-f]{8}-node-0-1: container node ended with exit code 137", shown
    ), shown


def test_an_interrupt_ends_the_gate_and_leaves_nothing_half_made(
    cli_stack: Stack, tmp_path: Path
) -> None:
    cli_stack.program(WAITING.format(seconds=12.0, code=0))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("trainer:Result", process)
        until(lambda: training(tmp_path), pause=0.1)
        interrupt(process)
        said, _ = process.communicate(timeout=600)
    assert "the wait was interrupted; what runs on" in said
    assert training(tmp_path), "the job ended with the command"
    (run,) = cli_stack.runs()
    assert "pending_operations" not in cli_stack.export()

    # No `pulumi cancel` in between: the first command gave its lock back.
    shown = cli_stack.up()

    assert "pending" not in shown
    assert [(each["uid"], each["phase"]) for each in cli_stack.runs()] == [(run["uid"], "Complete")]


def test_killed_during_the_gate_the_next_up_waits_again(cli_stack: Stack, tmp_path: Path) -> None:
    cli_stack.program(WAITING.format(seconds=8.0, code=0))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        # Only from here on the CLI writes nothing: killed while it writes, it loses its own state.
        read_until(" running", process)
        until(lambda: len(training(tmp_path)) == 2, pause=0.1)
        process.kill()
    (run,) = cli_stack.runs()

    cli_stack.run("cancel", "--yes")
    cli_stack.up()

    assert [(each["uid"], each["phase"]) for each in cli_stack.runs()] == [(run["uid"], "Complete")]


def test_killed_during_create_the_next_up_finds_the_run(cli_stack: Stack, tmp_path: Path) -> None:
    cli_stack.program(SUBMITTED)
    killed_during_create(cli_stack)

    cli_stack.run("cancel", "--yes")
    cli_stack.up()

    (run,) = cli_stack.runs()
    assert run["uid"] == cli_stack.job()["uid"]
    until(lambda: len(training(tmp_path)) == 2, pause=0.1)


@pytest.mark.soak
def test_killed_during_create_and_destroyed_gc_removes_what_is_left(
    cli_stack: Stack, tmp_path: Path
) -> None:
    cli_stack.program(SUBMITTED)
    killed_during_create(cli_stack)
    cli_stack.run("cancel", "--yes")
    cli_stack.run("destroy", "--yes")
    (run,) = until(cli_stack.runs)

    shown = cli_stack.trainer("gc", "--stack", "test", "--yes")

    assert run["name"] in shown
    assert cli_stack.runs() == []
    until(lambda: processes_of(tmp_path) == [], pause=0.1)


def killed_during_create(stack: Stack) -> None:
    """Kill the CLI as soon as the run's folder is there, which is before create returns."""
    runs = Path(stack.env["TRAINER_INFRA_HOME"]) / "runs" / "default"
    with stack.start("up", "--yes", "--skip-preview") as process:
        until(lambda: list(runs.glob("*/run.json")))
        process.kill()


def test_gc_leaves_what_the_state_owns(cli_stack: Stack) -> None:
    cli_stack.program(SUBMITTED)
    cli_stack.up()
    cli_stack.trainer("gc", "--stack", "test", "--yes")
    assert [each["uid"] for each in cli_stack.runs()] == [cli_stack.job()["uid"]]


def test_a_killed_supervisor_is_a_failure_at_the_next_refresh(stack: Stack, tmp_path: Path) -> None:
    stack.program(SUBMITTED)
    stack.up()
    until(lambda: len(training(tmp_path)) == 2, pause=0.1)
    (supervisor,) = {each.ppid() for each in training(tmp_path)}
    os.kill(supervisor, signal.SIGKILL)
    # The guard ends last: until then the run has somebody.
    until(lambda: processes_of(tmp_path) == [], pause=0.1)

    stack.run("refresh", "--yes")

    assert stack.job()["lastSeen"].startswith("Failed: ")
    assert "supervisor" in stack.job()["lastSeen"]


def test_a_run_of_another_stack_is_refused_until_it_is_adopted(
    stack: Stack, tmp_path: Path
) -> None:
    text = 'TrainJob("{name}", name="digits", runtime="jax-distributed", adopt={adopt}, trainer=CustomTrainer(train))'
    stack.program(text.format(name="first", adopt=False))
    stack.up()
    (run,) = stack.runs()
    other = replace(stack, folder=tmp_path / "other")
    other.folder.mkdir()
    (other.folder / "Pulumi.yaml").write_text("name: other\nruntime: python\n")
    other.run("stack", "init")
    other.run("config", "set", "trainer:target", "local")
    other.program(text.format(name="second", adopt=False))

    refused = other.up(ok=False)

    assert "digits" in refused
    assert "project" in refused
    assert "Traceback" not in refused
    assert [each["uid"] for each in stack.runs()] == [run["uid"]]
    other.program(text.format(name="second", adopt=True))
    other.up()
    assert other.job("second")["uid"] == run["uid"]
