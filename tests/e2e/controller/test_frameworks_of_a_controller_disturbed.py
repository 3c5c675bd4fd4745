"""The same with engine `controller`: disturbed trainings by real frameworks end as if they had not been."""

from collections.abc import Callable

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.framework_survivor import FRAMEWORKS, train_disturbed


@pytest.mark.soak
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_disturbed_ten_times_it_ends_as_if_it_had_not_been(
    controller_stack: Callable[..., Stack], namespace: Namespace, name: str
) -> None:
    train_disturbed(controller_stack(), namespace, name, times=10)
