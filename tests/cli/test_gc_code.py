"""`trainer-infra gc --cache`: code that previews kept."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import typer

from tests.cli import fleet
from tests.cli.command import Command
from tests.local.jobs import Job, finished, shell
from trainer_infra.cli import gc_here
from trainer_infra.trainers.custom import git_tree, stored_code

HOUR = 3600


@pytest.fixture
def kept(cli: Command) -> Mapping[str, Path]:
    """A tar and a commit of two hours ago, and one of each of now."""
    with fleet.folders_of(cli):
        archives, trees = stored_code.kept_folder(), git_tree.kept_folder()
    made = {
        "old tar": archives / "aa.tar",
        "new tar": archives / "bb.tar",
        "old tree": trees / "one-aa",
        "new tree": trees / "one-bb",
    }
    for name, path in made.items():
        file = path if "tar" in name else path / "train.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 50_000)
        if "old" in name:
            os.utime(path, (time.time() - 2 * HOUR,) * 2)
    return made


def there(kept: Mapping[str, Path]) -> set[str]:
    return {name for name, path in kept.items() if path.exists()}


def test_what_no_preview_used_for_an_hour_is_removed(
    cli: Command, kept: Mapping[str, Path]
) -> None:
    asked = cli("gc", "--cache", stdin="n\n")
    assert "code of 2 previews in" in asked.out
    assert "needs: 106.5 kB\nDelete 2? [y/N]: nothing is deleted" in asked.out
    assert there(kept) == kept.keys()
    assert "2 deleted, 106.5 kB freed" in cli("gc", "--cache", "--yes").out
    assert there(kept) == {"new tar", "new tree"}
    assert "code" not in cli("gc", "--cache", "--yes").out
    assert not any(kept["old tree"].parent.glob(".*"))


def test_what_a_killed_preview_left_is_removed(cli: Command, kept: Mapping[str, Path]) -> None:
    left = kept["old tar"].with_name(".partial-aa"), kept["old tree"].with_name(".partial-bb")
    left[0].write_bytes(b"x")
    left[1].mkdir()
    for each in left:
        os.utime(each, (time.time() - 2 * HOUR,) * 2)
    assert "4 deleted" in cli("gc", "--cache", "--yes").out
    assert not any(each.exists() for each in left)
    assert there(kept) == {"new tar", "new tree"}


def test_what_was_used_later_than_an_age_stays(cli: Command, kept: Mapping[str, Path]) -> None:
    assert "code" not in cli("gc", "--cache", "--yes", "--older-than", "3h").out
    assert there(kept) == kept.keys()
    assert "2 deleted" in cli("gc", "--cache", "--yes", "--older-than", "90m").out
    assert there(kept) == {"new tar", "new tree"}


def test_what_a_preview_uses_or_another_gc_removes_meanwhile_is_left_alone(
    cli: Command,
    kept: Mapping[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def meanwhile(_: str) -> bool:
        os.utime(kept["old tree"])
        kept["old tar"].unlink()
        return True

    monkeypatch.setattr(typer, "confirm", meanwhile)
    with fleet.folders_of(cli):
        gc_here.collect_code(None, confirmed=False)
    assert "0 deleted, 0 B freed" in capsys.readouterr().out
    assert there(kept) == {"new tar", "old tree", "new tree"}


def test_a_tar_that_a_run_was_submitted_with_stays(cli: Command, kept: Mapping[str, Path]) -> None:
    with fleet.folders_of(cli):
        job = Job(shell(f"echo {kept['old tar'].name}"), name="tj", owner=fleet.OF_COMMAND)
        finished(job.submit())
    assert "1 deleted" in cli("gc", "--cache", "--yes").out
    assert there(kept) == {"old tar", "new tar", "new tree"}
