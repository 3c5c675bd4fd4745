"""Programs of a cluster that Go builds, as fixtures: what asks for one of these belongs to `make verify`.

A test that starts or builds one in another way is marked `verify` by its file. Any other test that does
it fails with a sentence: `make test` needs no Go but for the Pulumi CLI.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import pytest

from from_source.cluster import apiserver, build, helm, kubectl
from from_source.cluster.apiserver import RunningServer

NewServer = Callable[..., AbstractContextManager[RunningServer]]
"""Starts a server, which ends with the context; it may be given CRDs that it has besides its own."""
FIXTURES: Final = frozenset(
    (
        "api_server",
        "queue_server",
        "own_api_server",
        "restartable_api_server",
        "kubectl_program",
        "helm_program",
        "reference_module",
        "s3",
        "registry",
    )
)
"""A test belongs to `make verify` if one of these is among all the fixtures that it needs. Those that are
not below stand where what they import is at hand: this file is of all tests, also where no extra is installed."""
ON_A_CLUSTER: Final = ("e2e", "soak", "chaos", "cluster_tool")
"""Folders of tests that have a cluster, with all its programs; they belong to no tier of `make check`."""
VERIFY: Final = "verify"
"""The mark."""

_TESTS: Final = Path(__file__).parent
_REFUSED_PROGRAMS: Final = _TESTS / "refused_programs"


def mark(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that need one of the fixtures."""
    for each in items:
        if isinstance(each, pytest.Function) and FIXTURES.intersection(each.fixturenames):
            each.add_marker(VERIFY)


@contextmanager
def refused_without_mark(item: pytest.Item) -> Iterator[None]:
    """Let a test that is not marked have none of the programs, also where they are installed."""
    folder = item.path.relative_to(_TESTS).parts[0]
    with pytest.MonkeyPatch.context() as patch:
        if folder not in ON_A_CLUSTER and not item.get_closest_marker(VERIFY):
            patch.setenv(build.REFUSED, "1")
            patch.setenv("PATH", str(_REFUSED_PROGRAMS), prepend=os.pathsep)
        yield


@pytest.fixture(scope="session")
def api_server() -> Iterator[RunningServer]:
    """The API server that tests of this process share: each has namespaces of its own there."""
    with apiserver.running() as found:
        yield found


@pytest.fixture(scope="session")
def own_api_server() -> NewServer:
    """Starts a server that no other test sees."""
    return apiserver.running


@pytest.fixture(scope="session")
def kubectl_program() -> Path:
    """What builds kustomizations; it is built where it is not installed."""
    return Path(kubectl.program())


@pytest.fixture(scope="session")
def helm_program() -> Path:
    """What renders charts; it is built where it is not installed."""
    return Path(helm.program())


@pytest.fixture
def kubectl_on_path(monkeypatch: pytest.MonkeyPatch, kubectl_program: Path) -> None:
    """As a user has it."""
    put_on_path(monkeypatch, kubectl_program)


@pytest.fixture
def helm_on_path(monkeypatch: pytest.MonkeyPatch, helm_program: Path) -> None:
    """As a user has it."""
    put_on_path(monkeypatch, helm_program)


def put_on_path(monkeypatch: pytest.MonkeyPatch, program: Path) -> None:
    """The program's folder comes last, so that nothing beside it hides what is installed."""
    monkeypatch.setenv("PATH", os.pathsep.join([os.environ["PATH"], str(program.parent)]))
