"""Whose a run of this machine is, and folders that are damaged or of another release."""

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.local.jobs import OWNER, Job, eventually, left, now, shell
from trainer_infra.errors import Refused, Unreadable
from trainer_infra.local import processes, run_folder, runs
from trainer_infra.runs.run import Contents, Owner, Run, RunKey

OTHER = Owner("proj", "prod", "urn:other", "s3://states")
SLEEP = Job(command=shell("sleep 60"))


VERBS: dict[str, Callable[[Run, Owner], Any]] = {
    "suspend": lambda run, owner: runs.suspend(RunKey("default", "tj", run.uid, owner), True),
    "update_secrets": lambda run, owner: runs.update_secrets(
        RunKey("default", "tj", run.uid, owner), {}
    ),
    "repair": lambda run, owner: runs.repair(RunKey("default", "tj", run.uid, owner), Contents()),
    "give": lambda run, owner: runs.give(RunKey("default", "tj", run.uid, owner), owner),
}


@pytest.mark.parametrize("verb", VERBS)
def test_the_former_owner_changes_nothing_of_a_run_that_was_taken_over(verb: str) -> None:
    run = SLEEP.submit()
    eventually(lambda: now(run).phase == "Running")
    runs.submit(replace(SLEEP.submission(), owner=OTHER), adopt=True)
    with pytest.raises(Refused) as error:
        VERBS[verb](run, OWNER)
    assert str(error.value) == f"run default/tj belongs to {OTHER.shown()} now"
    assert runs.delete(RunKey("default", "tj", run.uid, OWNER)) == (
        f"run default/tj is left alone: it belongs to {OTHER.shown()} now"
    )
    assert (now(run).uid, now(run).owner, now(run).phase) == (run.uid, OTHER, "Running")
    VERBS[verb](run, OTHER)
    assert runs.delete(RunKey("default", "tj", run.uid, OTHER)) == ""
    assert left(run) == []


def test_the_same_stack_of_another_backend_is_another_owner_and_is_named() -> None:
    mine = replace(SLEEP.submission(), owner=replace(OWNER, backend="file:a"))
    run = runs.submit(mine)
    theirs = replace(mine, owner=replace(OWNER, backend="file:b"))
    with pytest.raises(Refused, match="of project proj in backend file:a; choose another name"):
        runs.submit(theirs)
    assert runs.submit(replace(mine, owner=OWNER)).uid == run.uid


def _file(part: str) -> Path:
    return run_folder.folder_of("default", "tj").path / part


def _runs(run: Run) -> bool:
    return now(run).phase == "Running"


def _is_unreadable(run: Run, file: Path, text: str) -> bool:
    # Its supervisor may have written the file anew.
    file.write_text(text, errors="surrogatepass")
    try:
        runs.get("default", "tj", run.uid)
    except Unreadable:
        return True
    return False


DAMAGED = ("{broken", "[]", '{"name": 1}', "null", "[" * 100_000, "\ud800")


@pytest.mark.parametrize("part", ["run.json", "status.json"])
def test_a_damaged_folder_stops_nobody_and_is_deleted_by_its_uid(part: str) -> None:
    other = replace(SLEEP, name="sound").submit()
    for text in DAMAGED:
        run = SLEEP.submit()
        # Until then its supervisor writes the status.
        eventually(partial(_runs, run))
        _file(part).write_text(text, errors="surrogatepass")
        listing = runs.list_runs()
        assert "sound" in [each.name for each in listing.runs]
        if listing.unread:
            (said,) = listing.unread
            assert said.startswith(f"the folder {_file('')} should be a run's and cannot be read: ")
            eventually(partial(_is_unreadable, run, _file(part), text))
        assert runs.delete(RunKey("default", "tj", run.uid)) == ""
        assert left(run) == []
    assert now(other).phase != "Failed"


def test_a_folder_of_a_later_release_is_read_and_one_of_an_earlier_has_no_backend() -> None:
    run = SLEEP.submit()
    later = json.loads(_file("run.json").read_text())
    later |= {"later": 1, "owner": {**asdict(OWNER), "organization": "acme"}}
    _file("run.json").write_text(json.dumps(later))
    assert now(run).owner == OWNER
    runs.give(RunKey("default", "tj", run.uid, OWNER), OTHER)
    assert json.loads(_file("run.json").read_text())["later"] == 1
    earlier = {**later, "owner": {"project": "proj", "stack": "dev", "urn": OWNER.urn}}
    _file("run.json").write_text(json.dumps(earlier))
    assert now(run).owner == OWNER


def test_a_folder_that_was_copied_is_no_other_run() -> None:
    SLEEP.submit()
    copy = _file("").parent / "copy"
    copy.mkdir()
    (copy / "run.json").write_text(_file("run.json").read_text())
    listing = runs.list_runs()
    assert [each.name for each in listing.runs] == ["tj"]
    assert "run.json belongs to default/tj" in listing.unread[0]


def test_a_run_without_a_uid_has_no_process() -> None:
    assert processes.find_everywhere("") == []
