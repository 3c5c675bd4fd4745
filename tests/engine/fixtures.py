"""The fixtures of a stack on the engine for tests; rooms whose tests use them import them."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.deploy.project import processes_of
from tests.engine.stack import EngineStack, new_stack


@pytest.fixture
def engine_stack(tmp_path: Path, pulumi_env: dict[str, str]) -> Iterator[EngineStack]:
    """A stack on the engine for tests: a tenth of a second for each command."""
    yield new_stack(tmp_path / "project", pulumi_env)
    for process in processes_of(tmp_path):
        # A supervisor that has just ended is none to end.
        with suppress(psutil.NoSuchProcess):
            process.kill()


@pytest.fixture
def stack(engine_stack: EngineStack) -> EngineStack:
    """The stack of a room in which the CLI is not the subject; a test that is about it asks for `cli_stack`."""
    return engine_stack
