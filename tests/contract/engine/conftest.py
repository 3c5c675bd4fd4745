"""A watched stack on each engine; what the real CLI has passed is left out, at two seconds a command."""

import os

import pytest

from tests.contract.engine.watched import GOLDEN, Watched
from tests.engine.fixtures import engine_stack
from tests.kept_passes import KeptPasses

__all__ = ["engine_stack"]
PASSES = KeptPasses(
    "pulumi",
    "watched",
    "cli",
    (
        "requirements.lock",
        "tests/conftest.py",
        "tests/contract/engine/**/*.py",
        "tests/contract/engine/golden/*.json",
        "tests/deploy/project.py",
        "tests/kept_passes.py",
        "from_source/pulumi/**/*.go",
        "from_source/pulumi/*.mod",
        "from_source/pulumi/*.py",
        "from_source/pulumi/*.sum",
    ),
)
pytest_collection_modifyitems = PASSES.leave_out
pytest_runtest_makereport = PASSES.keep

WRITES = "WRITE_CONTRACT"
"""Variable with which `write_golden` has the real CLI's half write what it does."""


@pytest.fixture(params=["engine", pytest.param("cli", marks=pytest.mark.verify)])
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
