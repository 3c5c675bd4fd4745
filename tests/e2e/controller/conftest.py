"""A controller of TrainJobs on the cluster, for the tests of this folder: ours, in `make soak` Kubeflow's too."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.deploy.project import Stack
from tests.e2e.control_plane import IMAGES, ControlPlanes
from tests.soak_sample import sampled


@pytest.fixture(scope="session", params=sampled(IMAGES, every=2))
def trainer_controller(request: pytest.FixtureRequest, control_planes: ControlPlanes) -> str:
    """Which controller is there, ready, with the runtimes of the catalog."""
    control_planes.use(implementation=request.param)
    return str(request.param)


@pytest.fixture
def controller_stack(
    trainer_controller: str, new_stack: Callable[[str], Stack]
) -> Callable[..., Stack]:
    """Makes a project whose runs are TrainJobs of the cluster."""
    assert trainer_controller in IMAGES
    return partial(of_controller, new_stack)


@pytest.fixture
def cli_controller_stack(
    trainer_controller: str, new_cli_stack: Callable[[str], Stack]
) -> Callable[..., Stack]:
    """The same on the real CLI."""
    assert trainer_controller in IMAGES
    return partial(of_controller, new_cli_stack)


def of_controller(new: Callable[[str], Stack], name: str = "project") -> Stack:
    """A project whose engine is the controller."""
    made = new(name)
    made.run("config", "set", "trainer:engine", "controller")
    return made
