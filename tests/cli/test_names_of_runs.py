"""What a run can be called: its name, the beginning of it, or its Pulumi resource's name."""

from dataclasses import replace

import pytest

from tests.cli import fleet
from tests.cli.command import Command, command_in
from tests.cli.fleet import owner
from trainer_infra.cli import submission

HERE = "in namespace default on this machine"
CANCER = owner("cancer", "dev", "cancer")
MINE, THEIRS = owner("mine", "dev", "My_Job"), owner("mine", "prod", "My_Job")
SWEEP = owner("mine", "dev", "sweep")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Command:
    command = command_in(tmp_path_factory.mktemp("names"))
    fleet.ended(command, "cancer-50ab9297", CANCER, days=4)
    fleet.ended(command, "cancerous", days=5)
    fleet.ended(command, "a-mine-1", MINE, days=3)
    fleet.ended(command, "z-mine-2", THEIRS, days=2)
    for member in ("low", "high"):
        whose = replace(SWEEP, urn=f"{SWEEP.urn}#{member}")
        fleet.ended(command, f"sweep-{member}-1", whose, days=1)
    return command


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("cancer", "cancer-50ab9297 of stack cancer/dev"),  # a resource, though another begins so
        ("cancer-", "cancer-50ab9297 of stack cancer/dev"),
        ("cancero", "cancerous"),
        ("high", "sweep-high-1 of stack mine/dev"),
        ("sweep#low", "sweep-low-1 of stack mine/dev"),
    ],
)
def test_commands_that_read_take_what_means_one_run(several: Command, name: str, run: str) -> None:
    for command in ("get", "describe", "logs"):
        done = several(command, name)
        assert done.code == 0, done.err
        assert done.err.startswith(f"{name} is taken for run {run} (Complete, ")
        assert done.err.endswith(" old)\n")
    assert f"\ndefault    {run.partition(' ')[0]} " in several("get", name).out
    whole = several("get", run.partition(" ")[0])
    assert (whole.code, whole.err) == (0, "")


def test_several_that_can_be_meant_are_proposed_newest_first(several: Command) -> None:
    for command in ("get", "describe", "logs"):
        done = several(command, "My_Job")
        assert (done.code, done.out) == (1, "")
        assert done.err == f"there is no run 'My_Job' {HERE}; did you mean z-mine-2 or a-mine-1?\n"
    unknown = several("logs", "quartz").err
    assert unknown.startswith(f"there is no run 'quartz' {HERE}; its runs are: sweep-")
    assert unknown.endswith("z-mine-2, a-mine-1, cancer-50ab9297, cancerous\n")


def test_commands_that_change_want_the_whole_name_and_propose_it(several: Command) -> None:
    before = several.phases()
    said = f"there is no run 'cancer' {HERE}; did you mean cancer-50ab9297 or cancerous?\n"
    for command in ("delete", "suspend", "resume"):
        done = several(command, "cancer")
        assert (done.code, done.out, done.err) == (1, "", said)
    assert several.phases() == before


def test_what_no_run_can_be_called_is_unknown(several: Command) -> None:
    for command in ("get", "delete"):
        done = several(command, "../etc")
        assert done.code == 1
        assert done.err.startswith(f"there is no run '../etc' {HERE}; ")
    gone = several("delete", "../etc", "--ignore-not-found")
    assert (gone.code, gone.out, gone.err) == (0, "", "")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("dir/train.py", "train"),
        ("train.py:evaluate", "train"),
        ("churn:main.py", "churn"),
        ("churn:main.py:train", "churn"),
        ("src:churn.train:main", "churn-train"),
        ("src:churn.eval", "churn-eval"),
        ("src:jobs/Eval.py", "jobs-eval"),
        ("src:__main__.py", "src"),
        ("123.py", "train"),
    ],
)
def test_a_run_of_a_file_is_called_after_what_starts(file: str, name: str) -> None:
    assert submission.name_of(file) == name
