"""The fixture of a stack on the engine for tests; rooms whose tests use it import it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.project import processes_of
from tests.engine.stack import EngineStack, new_stack


@pytest.fixture
def engine_stack(tmp_path: Path, pulumi_env: dict[str, str]) -> Iterator[EngineStack]:
    """A stack on the engine for tests: a tenth of a second for each command."""
    yield new_stack(tmp_path / "project", pulumi_env)
    for process in processes_of(tmp_path):
        process.kill()
