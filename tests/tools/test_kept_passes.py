"""What has passed is not asked again, and what has not passed is never left out."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kept_passes import AGAIN

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import os
from pathlib import Path

import pytest
from tests import kept_passes
from tests.kept_passes import KeptPasses

kept_passes.COMMITTED = Path("committed")
PASSES = KeptPasses("theirs", "manager", "theirs", ("tests/kept_passes.py",))
pytest_collection_modifyitems = PASSES.leave_out
pytest_runtest_makereport = PASSES.keep
if os.environ.get("COMMIT"):
    PASSES.commit()


@pytest.fixture(params=["theirs", "ours"])
def manager(request):
    return request.param


@pytest.fixture
def broken():
    yield
    raise RuntimeError
"""
TESTS = """
import pytest


def test_that_passes(manager): pass
def test_that_fails(manager): raise RuntimeError
def test_that_fails_at_its_end(manager, broken): pass
def test_that_is_skipped(manager): pytest.skip("for a reason")
"""


def outcomes(folder: Path, *arguments: str, **env: str) -> dict[str, str]:
    """What pytest says of each test: a letter of its summary."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, "-v"]
    done = subprocess.run(
        [*command, "--rootdir", ".", *arguments, "test_it.py"],
        cwd=folder,
        env=os.environ
        | {"PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
        | {"TRAINER_INFRA_CACHE": str(folder / "cache"), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^test_it.py::test_that_(\S+) ([A-Z]+)", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return dict(found)


def test_only_what_has_passed_is_left_out(tmp_path: Path) -> None:
    everything = {
        "passes[theirs]": "PASSED",
        "passes[ours]": "PASSED",
        "fails[theirs]": "FAILED",
        "fails[ours]": "FAILED",
        "fails_at_its_end[theirs]": "ERROR",
        "fails_at_its_end[ours]": "ERROR",
        "is_skipped[theirs]": "SKIPPED",
        "is_skipped[ours]": "SKIPPED",
    }
    first = outcomes(tmp_path, "--deselect", "test_it.py::test_that_passes")
    assert first == {key: each for key, each in everything.items() if not key.startswith("passes")}
    assert outcomes(tmp_path) == everything
    assert outcomes(tmp_path) == everything | {"passes[theirs]": "SKIPPED"}
    assert outcomes(tmp_path, **{AGAIN: "1"}) == everything


def test_a_new_machine_has_what_the_repository_keeps(tmp_path: Path) -> None:
    committed = tmp_path / "committed"
    committed.mkdir()
    (committed / "theirs-passes-000000000000").write_text("test_it.py::test_that_fails[theirs]\n")
    outcomes(tmp_path)
    outcomes(tmp_path, COMMIT="1")
    (kept,) = committed.iterdir()
    assert kept.read_text() == "test_it.py::test_that_passes[theirs]\n"

    shutil.rmtree(tmp_path / "cache")
    assert [name for name, each in outcomes(tmp_path).items() if each == "SKIPPED"] == [
        "passes[theirs]",
        "is_skipped[theirs]",
        "is_skipped[ours]",
    ]
    assert outcomes(tmp_path, **{AGAIN: "1"})["passes[theirs]"] == "PASSED"
