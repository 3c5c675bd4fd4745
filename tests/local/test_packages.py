"""The job's Python: a virtual environment per set of locked packages, made once."""

import io
import os
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.jobs import Job, eventually, finished, left, lines, now, python, supervision
from tests.local.package_index import Index, Package, serving
from trainer_infra import names
from trainer_infra.local import packages, runs
from trainer_infra.runs.run import Run, RunKey

LARGE = 3_000_000
CATALOG = (
    Package("amber"),
    Package("basalt", needs=("amber<1",)),
    Package("coral", size=LARGE),
    Package("dolomite", needs=("coral",)),
    Package("emerald", version="1.0"),
    Package("emerald", version="1.1"),
)
CODE = ["python", "-c", "import amber, sys; print(amber.VERSION, sys.prefix)"]


@pytest.fixture(params=["uv", "pip"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of both."""
    name: str = request.param
    monkeypatch.setenv(names.INSTALLER, name)
    return name


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An index that pip is told of, and caches of the test's own."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    with serving(*CATALOG) as served:
        monkeypatch.setenv("PIP_INDEX_URL", served.url)
        yield served


def submitted(*wanted: str, name: str = "tj") -> Run:
    return Job(command=CODE, name=name, packages=wanted).submit()


def failed(*wanted: str) -> str:
    """Why installing failed; nothing but its log is left."""
    run = finished(submitted(*wanted))
    assert (run.phase, run.reason) == ("Failed", "InstallFailed")
    venv = packages.environment_folder(wanted)
    assert not venv.exists()
    log = venv.with_suffix(".log")
    assert run.message.endswith(f" (all of its output is in {log})")
    assert log.read_text().startswith(f"installing {', '.join(sorted(wanted))} with ")
    return run.message


def test_packages_are_installed_once_and_for_two_jobs_at_a_time(
    installer: str, index: Index
) -> None:
    both = [submitted("amber==1.0", name=name) for name in ("one", "two")]
    done = [finished(run) for run in both]

    assert [run.phase for run in done] == ["Complete", "Complete"], done[0].message
    venv = packages.environment_folder(["amber==1.0"])
    assert [lines(run) for run in both] == [[f"1.0 {venv}"]] * 2
    assert len([path for path in index.asked if path.startswith("/files/amber")]) <= 2
    log = venv.with_suffix(".log").read_text().splitlines()
    assert log[0] == f"installing amber==1.0 with {installer}"
    assert sum("nstalled 1 package" in line or "Successfully" in line for line in log) == 1


def test_what_is_installed_and_how_large_it_is_so_far_is_told(installer: str, index: Index) -> None:
    run = submitted("dolomite==1.0")
    so_far = {"uv": "0 B of 3.0 MB", "pip": "1.5 MB of at least 3.0 MB"}[installer]
    eventually(lambda: now(run).waiting_for == f"installing dolomite==1.0: {so_far}", 60)
    index.open.set()
    assert "pod tj-node-0-0: container node ended" in finished(run).message


def test_a_venv_without_its_marker_is_made_anew(installer: str) -> None:
    run = finished(submitted("amber==1.0"))
    venv = packages.environment_folder(["amber==1.0"])
    (venv / packages.MARKER).unlink()
    (venv / "bin" / "python").unlink()

    assert lines(finished(submitted("amber==1.0", name="again"))) == lines(run)
    assert installer in venv.with_suffix(".log").read_text()


def test_an_install_that_is_ended_leaves_nothing_and_is_made_anew(
    installer: str, index: Index
) -> None:
    run = submitted("coral==1.0")
    eventually(lambda: any("files/coral" in path for path in index.asked))
    assert runs.delete(RunKey(run.namespace, run.name, run.uid)) == ""
    assert left(run) == []
    assert not packages.environment_folder(["coral==1.0"]).exists()

    run = submitted("coral==1.0", "amber==1.0")
    index.open.set()
    assert finished(run).phase == "Complete", installer


def test_an_install_whose_supervisor_is_killed_is_made_anew(index: Index) -> None:
    run = submitted("coral==1.0", "amber==1.0")
    eventually(lambda: any("files/coral" in path for path in index.asked))
    for process in supervision(run):
        process.kill()
    assert finished(run).reason == "SupervisorLost"
    assert packages.environment_folder(["coral==1.0", "amber==1.0"]).exists()

    index.open.set()
    again = finished(submitted("coral==1.0", "amber==1.0", name="again"))
    assert again.phase == "Complete", again.message


def test_two_environments_share_the_files_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(names.INSTALLER, "uv")
    one, two = (["amber==1.0"], ["amber==1.0", "emerald==1.0"])
    for name, wanted in (("one", one), ("two", two)):
        assert finished(submitted(*wanted, name=name)).phase == "Complete"
    first, second = (
        next(packages.environment_folder(each).rglob("amber.py")) for each in (one, two)
    )
    assert first.samefile(second)


def test_a_version_that_is_not_there_is_told_with_those_that_are(installer: str) -> None:
    message = failed("emerald==0.9")
    assert message.startswith(f"installing emerald==0.9 failed: {installer} exited with 1: ")
    known = "No matching distribution found for emerald==0.9"
    assert {"pip": known, "uv": "no version of emerald==0.9"}[installer] in message
    if installer == "pip":
        assert "(there are versions 1.0, 1.1)" in message


@pytest.mark.usefixtures("installer")
def test_packages_that_conflict_are_named() -> None:
    message = failed("amber==1.0", "basalt==1.0")
    assert "conflict" in message or "unsatisfiable" in message
    assert "amber==1.0" in message.partition("exited")[2]
    assert "basalt" in message.partition("exited")[2]
    assert "on amber<1" in message
    assert "See above" not in message


def test_an_index_that_cannot_be_reached_is_told_with_the_error(
    installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/simple")
        monkeypatch.setenv("PIP_RETRIES", "0" if installer == "uv" else "1")
        message = failed("amber==1.0")
    assert "the package index could not be reached: " in message
    assert "Connection refused" in message
    assert "No matching distribution" not in message
    assert " object at 0x" not in message


@pytest.mark.usefixtures("installer")
def test_a_build_that_fails_is_told_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdist(tmp_path / "links", "flint", "raise SystemExit('no compiler for flint')\n")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    message = failed("flint==1.0")
    assert "flint" in message.partition("exited")[2]
    assert "no compiler for flint" in message
    assert "See above" not in message


def test_a_setting_that_uv_does_not_know_is_a_reason_for_pip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PIP_ONLY_BINARY", ":all:")
    assert finished(submitted("amber==1.0")).phase == "Complete"
    log = packages.environment_folder(["amber==1.0"]).with_suffix(".log").read_text()
    said = "with pip, which has a setting that uv does not know: only-binary\n"
    assert log.startswith(f"installing amber==1.0 {said}")


def test_a_setting_of_a_file_holds_for_both(
    installer: str, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_INDEX_URL")
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {index.url}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    assert finished(submitted("amber==1.0")).phase == "Complete", installer


def test_packages_come_from_the_indexes_that_are_named(
    installer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    code = ["python", "-c", "import amber, planted; print(amber.VERSION, planted.VERSION)"]
    with serving(Package("amber")) as first, serving(Package("planted")) as second:
        indexes = [f"--index-url={first.url}", f"--extra-index-url={second.url}"]
        wanted = [*indexes, "amber==1.0", "planted==1.0"]
        done = finished(Job(command=code, packages=wanted).submit())
        assert (done.phase, lines(done)) == ("Complete", ["1.0 1.0"]), done.message
        assert second.asked
    said = packages.environment_folder(wanted).with_suffix(".log").read_text().splitlines()[0]
    assert said == f"installing amber==1.0, planted==1.0 with {installer}"


def test_an_installer_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(names.INSTALLER, "conda")
    run = finished(submitted("amber==1.0"))
    assert run.message == "TRAINER_INFRA_INSTALLER names no installer, got 'conda'; use uv or pip"


def test_without_packages_nothing_is_installed(tmp_path: Path) -> None:
    assert finished(Job(command=python("1")).submit()).phase == "Complete"
    assert not (tmp_path / "cache" / "venvs").exists()


def sdist(folder: Path, name: str, setup: str) -> None:
    """A source distribution that is built without a build tool of its own."""
    folder.mkdir()
    backend = f"def build_wheel(*_, **__):\n    {setup}"
    backend += f"\ndef prepare_metadata_for_build_wheel(*_, **__):\n    {setup}"
    project = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    with tarfile.open(folder / f"{name}-1.0.tar.gz", "w:gz") as archive:
        for path, text in {"own.py": backend, "pyproject.toml": project, "PKG-INFO": head}.items():
            data = text.encode()
            entry = tarfile.TarInfo(f"{name}-1.0/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
