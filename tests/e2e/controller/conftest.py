"""Kubeflow Trainer's own controller on the cluster, for the tests of this folder, and its runtimes."""

from collections.abc import Callable

import pytest

from tests.deploy.project import Stack
from tests.e2e.control_plane import ControlPlanes


@pytest.fixture(scope="session")
def trainer_controller(control_planes: ControlPlanes) -> None:
    """The controller, ready, with the runtimes of the catalog."""
    control_planes.use(implementation="upstream")


@pytest.fixture
def controller_stack(
    trainer_controller: None, new_stack: Callable[[str], Stack]
) -> Callable[[str], Stack]:
    """Makes a project whose runs are TrainJobs of the cluster."""
    assert trainer_controller is None

    def make(name: str = "project") -> Stack:
        made = new_stack(name)
        made.run("config", "set", "trainer:engine", "controller")
        return made

    return make
