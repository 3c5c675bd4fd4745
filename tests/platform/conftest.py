"""Components under Pulumi's mocks, over the manifests of the releases themselves."""

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def open_event_loop() -> Iterator[None]:
    """A test may make an Output, which needs a loop; other rooms' tests leave the thread without one."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()
