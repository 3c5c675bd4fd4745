"""What the tests on a real cluster share: the cluster, a namespace of one's own, and stacks on it."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from from_source.cluster import base_image, kubectl, up
from tests.deploy.project import Stack, processes_of
from tests.e2e.cluster import Namespace
from tests.e2e.control_plane import ControlPlanes
from tests.e2e.fine_tuning import libraries, source
from tests.e2e.stack_maker import StackMaker
from tests.engine.stack import EngineStack

__all__ = ("libraries", "source")


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    """The cluster in KUBECONFIG, else the one that `make cluster` makes."""
    return up.ensure()


@pytest.fixture(scope="session")
def image(kubeconfig: Path) -> str:
    """Name of an image with Python; `kubeconfig` is there for the order."""
    assert kubeconfig.exists()
    return base_image.loaded()


@pytest.fixture(scope="session")
def control_planes(kubeconfig: Path) -> Iterator[ControlPlanes]:
    """What has a control plane of Trainer when a test asks for one; none stays behind."""
    made = ControlPlanes(kubeconfig)
    yield made
    made.remove()


@pytest.fixture
def namespace(kubeconfig: Path) -> Iterator[Namespace]:
    """A namespace for one test, deleted afterwards with all that is in it."""
    made = Namespace(f"e2e-{secrets.token_hex(4)}", kubeconfig, kubectl.program())
    made.make()
    yield made
    made.remove()


@pytest.fixture
def stack_maker(
    tmp_path: Path, pulumi_env: dict[str, str], namespace: Namespace, image: str
) -> Iterator[StackMaker]:
    """Makes Pulumi projects whose runs go to the namespace; nothing of theirs runs on after the test."""
    yield StackMaker(tmp_path, pulumi_env, namespace, image)
    for process in processes_of(tmp_path):
        process.kill()


@pytest.fixture
def new_stack(stack_maker: StackMaker) -> Callable[..., Stack]:
    """Makes a project with a stack named `test` on the engine for tests: see `StackMaker.make`."""
    return partial(stack_maker.make, EngineStack)


@pytest.fixture
def new_cli_stack(stack_maker: StackMaker) -> Callable[..., Stack]:
    """The same on the real CLI, for what is started to be watched or struck, and for whole journeys."""
    return partial(stack_maker.make, Stack)


@pytest.fixture
def cluster_stack(new_stack: Callable[..., Stack]) -> Stack:
    """One such project."""
    return new_stack("project")


@pytest.fixture
def cli_cluster_stack(new_cli_stack: Callable[..., Stack]) -> Stack:
    """One of the real CLI."""
    return new_cli_stack("project")
