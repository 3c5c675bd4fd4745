"""The same with engine `controller`: a training that saves goes on where it was."""

from collections.abc import Callable

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.survivor import DISTURBANCES, train_disturbed


@pytest.mark.parametrize("how", DISTURBANCES)
def test_a_disturbed_run_is_complete_with_what_an_undisturbed_one_has(
    controller_stack: Callable[..., Stack], namespace: Namespace, how: str
) -> None:
    train_disturbed(controller_stack(), namespace, DISTURBANCES[how])
