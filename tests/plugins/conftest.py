"""The packages of `acme` beside ours."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.fixtures import engine_stack, stack

__all__ = ["engine_stack", "stack"]
ACME = Path(__file__).parent / "acme"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As after `pip install`."""
    monkeypatch.syspath_prepend(str(ACME))
    monkeypatch.setenv("PYTHONPATH", str(ACME), prepend=os.pathsep)
    yield
    for module in ACME.glob("acme_*.py"):
        sys.modules.pop(module.stem, None)
