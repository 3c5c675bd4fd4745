"""Types that leave room for a gate's progress, and stacks of releases that had longer ones."""

import re
from pathlib import Path

import pytest

from tests import terminal
from tests.deploy.project import Stack
from tests.deploy.test_batch import HEAD

PROGRAM = (
    HEAD
    + """
from trainer_infra import TrainingRuntime, catalog
mine = TrainingRuntime("mine", catalog.get("jax-distributed"))
TrainJob("job", runtime=mine, trainer=CustomTrainer(train, func_args={"seconds": SECONDS}), wait_for="complete")
TrainJobs("many", {"a": job(text="a")}, wait_for="complete")
"""
)
OLDER = {
    "trainer:Results": "dynamic/trainer:TrainJobsResult",
    "trainer:Result": "dynamic/trainer:TrainJobResult",
    "trainer:Runtime": "dynamic/trainer:TrainingRuntime",
    "trainer:TrainJobs": "dynamic/trainer:TrainJobs",
    "trainer:TrainJob": "dynamic/trainer:TrainJob",
}


def program(seconds: float = 0.0) -> str:
    return PROGRAM.replace("SECONDS", str(seconds))


def older(text: str) -> str:
    """The text as a release before wrote it."""
    names = "|".join(OLDER)
    return re.sub(rf"(?<=pulumi-python:)({names})\b", lambda found: OLDER[found[0]], text)


@pytest.mark.soak
def test_what_an_older_release_made_is_kept(cli_stack: Stack) -> None:
    cli_stack.program(program())
    cli_stack.up()
    before = sorted(run["uid"] for run in cli_stack.runs())
    state = cli_stack.folder / "state.json"
    state.write_text(older(cli_stack.export()))
    assert "dynamic/trainer:TrainJobsResult" in state.read_text()
    cli_stack.run("stack", "import", "--file", str(state))
    for file in Path(cli_stack.env["TRAINER_INFRA_HOME"]).glob("runs/*/*/run.json"):
        file.write_text(older(file.read_text()))

    cli_stack.unchanged()
    cli_stack.run("refresh", "--yes")
    cli_stack.up()

    assert sorted(run["uid"] for run in cli_stack.runs()) == before
    kinds = {each["type"] for each in cli_stack.resources("") if "trainer:" in each["type"]}
    assert kinds == {f"pulumi-python:{kind}" for kind in OLDER}
    cli_stack.unchanged()
    cli_stack.run("refresh", "--yes")
    cli_stack.unchanged()
    cli_stack.trainer("gc", "--stack", "test", "--yes")
    assert sorted(run["uid"] for run in cli_stack.runs()) == before
    cli_stack.run("destroy", "--yes")
    assert cli_stack.runs() == []


@pytest.mark.soak
def test_a_stack_of_an_older_release_is_destroyed(stack: Stack) -> None:
    stack.program(program())
    stack.up()
    state = stack.folder / "state.json"
    state.write_text(older(stack.export()))
    stack.run("stack", "import", "--file", str(state))
    stack.run("destroy", "--yes")
    assert stack.runs() == []


def shown_rows(stack: Stack, columns: int) -> list[str]:
    """The rows of gates that `pulumi up` draws in a terminal so wide."""
    command = ["pulumi", "up", "--yes", "--skip-preview", "--stack", stack.name]
    _, text = terminal.drawn(command, stack.folder, {**stack.env, "TERM": "xterm"}, columns)
    drawn = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n").split("\n")
    rows = [each for each in drawn if "trainer:Result" in each]
    assert max(map(len, rows)) <= columns
    return rows


def test_on_80_columns_the_percent_is_seen_and_on_100_also_of_a_run_that_replaces_another(
    stack: Stack,
) -> None:
    stack.program(program(seconds=6.0))
    assert any("creating" in row and "10%" in row for row in shown_rows(stack, 80))

    stack.program(program(seconds=6.5).replace('text="a"', 'text="b"'))
    rows = shown_rows(stack, 100)
    assert any("creating replacement" in row and "10%" in row for row in rows), rows
    assert not any("diff" in row for row in rows)
