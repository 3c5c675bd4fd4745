"""`trainer-infra gc --older-than`: runs that ended long ago and that no stack has."""

from pathlib import Path

import pytest

from tests.cli import fleet
from tests.cli.command import Command, command_in
from tests.cli.fleet import owner
from tests.deploy.project import Stack
from trainer_infra.deploy import backend

WEEK = ("gc", "--older-than", "7d")


@pytest.mark.soak
def test_old_runs_of_the_command_line_go_and_what_runs_or_is_new_stays(cli: Command) -> None:
    fleet.ended(cli, "old", days=9)
    fleet.ended(cli, "new", days=5)
    fleet.running(cli, "goes-on")

    asked = cli(*WEEK, stdin="n\n")
    first, row, *_ = asked.out.splitlines()
    assert first == "runs on this machine that ended more than 7d ago and that no stack has:"
    assert row.startswith("  default/old (Complete, 9d ago, ")
    assert row.endswith(" kB)")
    assert "nothing is deleted" in asked.out
    assert len(cli.runs()) == 3

    done = cli(*WEEK, "--yes")
    assert done.out.splitlines()[2] == "default/old deleted"
    assert done.out.splitlines()[3].endswith(" kB freed")
    assert sorted(cli.phases()) == ["goes-on", "new"]
    nothing = "no run that ended more than 7d ago is without a stack on this machine\n"
    assert cli(*WEEK, "--yes").out == nothing


def test_runs_of_stacks_are_left_alone_where_no_state_is_known(cli: Command) -> None:
    for name in ("one", "two"):
        fleet.ended(cli, name, owner("mine", "dev", name, "s3://states"), days=9)
    done = cli(*WEEK, "--yes")
    assert done.out.splitlines()[0] == (
        "left alone: 2 runs of stack mine/dev, whether its state has them is known in the folder "
        "of its program: run gc there"
    )
    assert sorted(cli.phases()) == ["one", "two"]


PROGRAM = """
import pulumi
from trainer_infra import CustomTrainer, TrainJob

def train():
    pass

TrainJob("kept", runtime="jax-distributed", name="kept", trainer=CustomTrainer(train), wait_for="complete")
"""


def test_a_run_of_a_stack_goes_once_no_state_has_it(stack: Stack, tmp_path: Path) -> None:
    (stack.folder / "__main__.py").write_text(PROGRAM)
    stack.up()
    here = backend.backend_identity(stack.env, {}, "organization", (stack.folder,))
    command = Command(stack.folder, {**stack.env, "TRAINER_INFRA_CACHE": str(tmp_path / "cache")})
    fleet.ended(command, "forgotten", owner("project", "gone", "forgotten", here), days=9)
    fleet.ended(command, "elsewhere", owner("project", "gone", "elsewhere", "s3://states"), days=9)
    fleet.age(command, "kept", days=9)

    said = stack.trainer(*WEEK, "--yes").splitlines()
    assert sorted(said[:2]) == [
        f"left alone: default/elsewhere of stack project/gone, made in backend s3://states, this is {here}",
        "left alone: default/kept of stack project/test, in the state of stack test",
    ]
    assert said[3].startswith("  default/forgotten (Complete, 9d ago, ")
    assert said[4] == "default/forgotten deleted"
    assert sorted(command.phases()) == ["elsewhere", "kept"]


def test_a_stacks_lost_runs_are_chosen_by_age_as_well(stack: Stack, tmp_path: Path) -> None:
    (stack.folder / "__main__.py").write_text("")
    stack.up()
    here = backend.backend_identity(stack.env, {}, "organization", (stack.folder,))
    command = Command(stack.folder, {**stack.env, "TRAINER_INFRA_CACHE": str(tmp_path / "cache")})
    for name, days in (("old", 9), ("new", 1)):
        fleet.ended(command, name, owner("project", "test", name, here), days=days)
    said = stack.trainer("gc", "--stack", "test", "--older-than", "7d", "--yes").splitlines()
    assert said[-2] == "default/old deleted"
    assert sorted(command.phases()) == ["new"]


def test_a_folder_of_its_own_has_nothing_to_collect(tmp_path: Path) -> None:
    command = command_in(tmp_path)
    assert command(*WEEK).code == 0
