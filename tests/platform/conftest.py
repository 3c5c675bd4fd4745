"""Components under Pulumi's mocks, over the manifests of the releases themselves."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.cluster import helm, kubectl


@pytest.fixture(autouse=True)
def open_event_loop() -> Iterator[None]:
    """A test may make an Output, which needs a loop; other rooms' tests leave the thread without one."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    asyncio.set_event_loop(None)
    made.close()


@pytest.fixture(autouse=True)
def kubectl_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What builds kustomizations; setup builds it where it is not installed."""
    put_kubectl_on_path(monkeypatch)


def put_kubectl_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a test that has other fixtures."""
    folder = str(Path(kubectl.program()).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], folder]))


@pytest.fixture(autouse=True)
def helm_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What renders charts; it is built where it is not installed."""
    folder = str(Path(helm.program()).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], folder]))
