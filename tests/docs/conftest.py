"""Fixtures of the tests of pages."""

import pytest

from tests.deploy.project import Stack
from tests.engine.fixtures import engine_stack

__all__ = ["engine_stack"]


@pytest.fixture
def stack(engine_stack: Stack) -> Stack:
    """A stack on the engine for tests: a page's program is the subject, not the CLI."""
    return engine_stack
