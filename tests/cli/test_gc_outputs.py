"""`trainer-infra gc --outputs`: what runs kept on this machine, and whose runs are gone."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli import fleet
from tests.cli.command import Command
from tests.local.jobs import Job, finished
from trainer_infra import home_folders
from trainer_infra.local import runs

DAY = 86_400


@pytest.fixture
def root(cli: Command) -> Path:
    """Outputs of a run that is there, of two that are gone, and of one whose folder is damaged."""
    with fleet.folders_of(cli):
        root = home_folders.state_home() / "outputs"
        folders = home_folders.state_home() / "runs"
    for place in (
        "default/there/model",
        "default/gone/model",
        "team/old/adapter",
        "team/bad/model",
    ):
        (root / place).mkdir(parents=True)
        (root / place / "weights").write_bytes(b"x" * 50_000)
    (root / "default/gone/empty").mkdir()
    for each in (root / "team/old", *(root / "team/old").rglob("*")):
        os.utime(each, (time.time() - 9 * DAY,) * 2)
    fleet.ended(cli, "there")
    (folders / "team/bad").mkdir(parents=True)
    (folders / "team/bad/run.json").write_text("{")
    return root


def left(root: Path) -> set[str]:
    return {str(each.relative_to(root)) for each in root.glob("*/*")}


def test_outputs_without_their_runs_are_listed_and_removed(cli: Command, root: Path) -> None:
    asked = cli("gc", "--outputs", stdin="n\n")
    rows = [line.split() for line in asked.out.splitlines()]
    assert rows[1] == ["NAMESPACE", "RUN", "SIZE", "WRITTEN", "OUTPUTS"]
    assert [[*row[:2], row[-1]] for row in rows[2:4]] == [
        ["default", "gone", "model"],
        ["team", "old", "adapter"],
    ]
    assert "Delete 2? [y/N]: nothing is deleted" in asked.out
    assert len(left(root)) == 4

    only_old = cli("gc", "--outputs", "--older-than", "7d", "--yes")
    assert only_old.out.splitlines()[-1].startswith("1 deleted, 5")
    assert left(root) == {"default/there", "default/gone", "team/bad"}
    assert cli("gc", "--outputs", "--yes").out.splitlines()[-1].startswith("1 deleted, 5")
    assert left(root) == {"default/there", "team/bad"}
    assert "there is no output in" in cli("gc", "--outputs", "--yes").out


def test_what_a_run_reads_stays(cli: Command, root: Path) -> None:
    model = root / "default/gone/model"
    made = Job(name="reader").submission()
    spec = {**made.job["spec"], "initializer": {"model": {"storageUri": f"file://{model}"}}}
    with fleet.folders_of(cli):
        finished(runs.submit(replace(made, job={**made.job, "spec": spec})))
    done = cli("gc", "--outputs", "--yes")
    assert "left alone: default/gone, which run default/reader reads" in done.out
    assert model.exists()
    assert "team/old" not in left(root)


@pytest.mark.parametrize("more", [("--stack", "dev"), ("-n", "team"), ("--cache",)])
def test_it_is_about_this_machine(cli: Command, more: tuple[str, ...]) -> None:
    refused = cli("gc", "--outputs", *more)
    assert (refused.code, refused.out) == (2, "")
    assert "--outputs is about this machine" in refused.err
