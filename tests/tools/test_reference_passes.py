"""The reference is not asked again what it has passed, and what it has not passed is never left out."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.conformance.reference_passes import AGAIN

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import pytest
from tests.conformance.implementations import BUILTIN, UPSTREAM
from tests.conformance.reference_passes import pytest_collection_modifyitems, pytest_runtest_makereport


@pytest.fixture(params=[UPSTREAM, BUILTIN], ids=lambda each: each.name)
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
        | {"PYTHONPATH": str(ROOT), "TRAINER_INFRA_CACHE": str(folder / "cache"), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^test_it.py::test_that_(\S+) ([A-Z]+)", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return dict(found)


def test_only_what_the_reference_has_passed_is_left_out(tmp_path: Path) -> None:
    everything = {
        "passes[upstream]": "PASSED",
        "passes[builtin]": "PASSED",
        "fails[upstream]": "FAILED",
        "fails[builtin]": "FAILED",
        "fails_at_its_end[upstream]": "ERROR",
        "fails_at_its_end[builtin]": "ERROR",
        "is_skipped[upstream]": "SKIPPED",
        "is_skipped[builtin]": "SKIPPED",
    }
    first = outcomes(tmp_path, "--deselect", "test_it.py::test_that_passes")
    assert first == {key: each for key, each in everything.items() if not key.startswith("passes")}
    assert outcomes(tmp_path) == everything
    assert outcomes(tmp_path) == everything | {"passes[upstream]": "SKIPPED"}
    assert outcomes(tmp_path, **{AGAIN: "1"}) == everything
