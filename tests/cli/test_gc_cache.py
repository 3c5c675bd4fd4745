"""`trainer-infra gc --cache`: environments of packages that no run uses."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli import fleet
from tests.cli.command import Command, until
from tests.local.jobs import Job, finished, shell
from tests.local.package_index import Index, Package, serving
from trainer_infra import names
from trainer_infra.local import packages
from trainer_infra.runs.run import Run

GC = ("gc", "--cache", "--yes")


@pytest.fixture(autouse=True)
def index(cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An index, and the folders of the command for the runs that a test submits."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    with (
        serving(Package("amber"), Package("coral", size=3_000_000)) as served,
        fleet.folders_of(cli),
    ):
        monkeypatch.setenv("PIP_INDEX_URL", served.url)
        yield served


def run(*wanted: str, name: str = "tj", command: str = "true") -> Run:
    return Job(shell(command), name=name, packages=wanted, owner=fleet.OF_COMMAND).submit()


def table(text: str) -> list[list[str]]:
    """State and packages of each environment in a list."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("ENVIRONMENT"))
    rows = [line.split() for line in lines[begin + 1 :] if line.split()[-1].count("==")]
    return [[row[1], row[-1]] for row in rows]


def test_what_no_run_uses_is_listed_and_removed_and_all_else_stays(cli: Command) -> None:
    finished(run("amber==1.0"))
    finished(run("amber==2.0", name="other"))
    beside = Path(os.environ[names.CACHE_HOME]) / "pulumi-v3"
    beside.mkdir()

    asked = cli("gc", "--cache", stdin="n\n")
    assert (
        asked.out.splitlines()[0]
        == f"environments in {packages.environments_home()} that no run uses:"
    )
    assert sorted(table(asked.out.partition("Delete")[0])) == [
        ["failed", "amber==2.0"],
        ["ready", "amber==1.0"],
    ]
    assert "Delete 2? [y/N]: nothing is deleted" in asked.out
    assert packages.is_whole(packages.environment_folder(["amber==1.0"]))

    done = cli(*GC)
    assert "2 deleted, " in done.out
    assert list(packages.environments_home().iterdir()) == []
    assert beside.exists()
    nothing = f"there is no environment in {packages.environments_home()} that no run uses\n"
    assert cli(*GC).out == nothing
    assert finished(run("amber==1.0", name="again")).phase == "Complete"


def test_what_a_run_uses_stays_also_one_of_another_state_folder(
    cli: Command, tmp_path: Path
) -> None:
    run("amber==1.0", command="sleep 600")
    venv = packages.environment_folder(["amber==1.0"])
    until(lambda: cli.phases() == {"tj": "Running"})
    elsewhere = Command(cli.folder, {**cli.env, names.STATE_HOME: str(tmp_path / "elsewhere")})
    for command, who in ((cli, "run default/tj uses it"), (elsewhere, "")):
        done = command(*GC)
        assert done.out.startswith(f"left alone: {venv.name} (amber==1.0), ")
        assert who in done.out
    assert packages.is_whole(venv)
    assert cli("delete", "tj").code == 0
    assert "1 deleted" in cli(*GC).out


def test_what_a_process_runs_in_stays_though_nobody_holds_its_lock(cli: Command) -> None:
    """As it is with runs that an earlier release began."""
    finished(run("amber==1.0"))
    venv = packages.environment_folder(["amber==1.0"])
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE,
        env={**os.environ, "VIRTUAL_ENV": str(venv)},
    )
    try:
        said = f"left alone: {venv.name} (amber==1.0), a process runs in it\n"
        assert cli(*GC).out.startswith(said)
    finally:
        process.communicate(b"\n")
    assert "1 deleted" in cli(*GC).out


def test_what_is_being_installed_stays(cli: Command, index: Index) -> None:
    submitted = run("coral==1.0")
    until(lambda: any("files/coral" in path for path in index.asked))
    venv = packages.environment_folder(["coral==1.0"])
    done = cli(*GC)
    assert done.out.startswith(f"left alone: {venv.name} (coral==1.0), it is being installed\n")
    index.open.set()
    assert finished(submitted).phase == "Complete"


def test_what_a_killed_installation_left_is_unfinished(cli: Command) -> None:
    left = packages.environments_home() / "0123456789abcdef"
    (left / "lib").mkdir(parents=True)
    (left / "lib" / "half").write_bytes(bytes(200_000))
    done = cli(*GC)
    assert done.out.splitlines()[2].split()[:3] == [left.name, "unfinished", "200.7"]
    assert done.out.splitlines()[3] == "1 deleted, 200.7 kB freed"
    assert not left.exists()


def test_age_is_since_an_environment_was_last_used(cli: Command) -> None:
    finished(run("amber==1.0"))
    marker = packages.environment_folder(["amber==1.0"]) / packages.MARKER
    os.utime(marker, (1_700_000_000, 1_700_000_000))
    assert finished(run("amber==1.0", name="again")).phase == "Complete"
    assert "there is no environment" in cli(*GC, "--older-than", "30d").out
    os.utime(marker, (1_700_000_000, 1_700_000_000))
    assert "1 deleted" in cli(*GC, "--older-than", "30d").out


def test_files_that_are_shared_with_uvs_cache_are_not_counted_as_freed(
    cli: Command, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.INSTALLER, "uv")
    index.open.set()
    finished(run("coral==1.0"))
    said = cli(*GC).out.splitlines()
    assert said[-2].startswith("1 deleted, ")
    assert said[-2].endswith(" kB freed")
    assert said[-1].startswith("3.0 MB of their files stay, in uv's cache or in other environments")


def test_a_lock_is_taken_again_before_an_environment_is_removed(cli: Command) -> None:
    """A run may begin while the question waits for its answer."""
    finished(run("amber==1.0"))
    venv = packages.environment_folder(["amber==1.0"])
    asking = subprocess.Popen(
        [str(Path(sys.executable).parent / "trainer-infra"), "gc", "--cache"],
        env=dict(cli.env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asking.stdout is not None
    while not asking.stdout.readline().startswith(venv.name):
        assert asking.poll() is None
    handle = packages.hold_environment(venv, fcntl.LOCK_SH)
    assert handle is not None
    out, err = asking.communicate("y\n", timeout=600)
    os.close(handle)
    assert err == f"{venv.name} is left alone: it is used by now\n"
    assert "0 deleted, 0 B freed" in out
    assert packages.is_whole(venv)
