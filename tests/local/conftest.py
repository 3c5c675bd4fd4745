"""A state folder and a cache of each test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.jobs import left
from tests.warm_supervisors import supervisors
from trainer_infra import names
from trainer_infra.local import runs
from trainer_infra.runs.run import RunKey

__all__ = ["supervisors"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder and a cache of the test's own; nothing runs on after the test."""
    monkeypatch.setenv(names.STATE_HOME, str(tmp_path / "home"))
    monkeypatch.setenv(names.CACHE_HOME, str(tmp_path / "cache"))
    yield tmp_path / "home"
    for run in runs.list_runs().runs:
        runs.delete(RunKey(run.namespace, run.name, run.uid), timeout=5)
        assert left(run) == []
