"""A watched stack on each engine: the real CLI in `make soak`, for its half costs two seconds a command."""

import os

import pytest

from tests.contract.engine.watched import GOLDEN, Watched
from tests.engine.fixtures import engine_stack

__all__ = ["engine_stack"]

WRITES = "WRITE_CONTRACT"
"""Variable with which `write_golden` has the real CLI's half write what it does."""


@pytest.fixture(params=["engine", pytest.param("cli", marks=pytest.mark.soak)])
def watched(request: pytest.FixtureRequest) -> Watched:
    stack = request.getfixturevalue(f"{request.param}_stack")
    name = request.node.originalname.removeprefix("test_")
    return Watched(stack, request.param == "cli", GOLDEN / f"{name}.json")


def agreed(watched: Watched) -> None:
    """Fail unless a stack did what the real CLI did; the CLI's half writes that where it is told to."""
    if not os.environ.get(WRITES):
        watched.agrees()
    elif watched.cli:
        watched.write()
