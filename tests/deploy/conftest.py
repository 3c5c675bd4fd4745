"""Fixtures of the tests of resources."""

import asyncio
from collections.abc import Iterator

import pytest
from pulumi.runtime import mocks, settings

from tests.deploy.mock_engine import MockEngine
from tests.engine.fixtures import engine_stack, stack

__all__ = ["engine_stack", "stack"]


@pytest.fixture
def engine() -> Iterator[MockEngine]:
    made = MockEngine()
    before = dict(settings.SETTINGS.__dict__)
    try:
        asyncio.get_event_loop()
    except RuntimeError:
        # An earlier test of this process called asyncio.run, which leaves the thread without one.
        asyncio.set_event_loop(asyncio.new_event_loop())
    mocks.set_mocks(made, project="p", stack="s", preview=True)
    yield made
    settings.SETTINGS.rpc_manager.clear()
    settings.SETTINGS.outputs.clear()
    settings.SETTINGS.__dict__.update(before)
