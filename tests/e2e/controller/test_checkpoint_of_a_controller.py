"""The same with engine `controller`: a training that saves goes on where it was."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.e2e import framework_survivor
from tests.e2e.cluster import Namespace
from tests.e2e.elastic_pods import train_with_deleted_pods
from tests.e2e.elastic_training import undisturbed
from tests.e2e.killed_by_force import ONE_HOUR
from tests.e2e.killed_on_a_cluster import strike_on_a_cluster
from tests.e2e.survivor import DISTURBANCES, train_disturbed, train_to_deadlines


@pytest.mark.parametrize("how", DISTURBANCES)
def test_a_disturbed_run_is_complete_with_what_an_undisturbed_one_has(
    controller_stack: Callable[..., Stack], namespace: Namespace, how: str
) -> None:
    train_disturbed(controller_stack(), namespace, DISTURBANCES[how])


@pytest.mark.soak
@ONE_HOUR
@pytest.mark.parametrize("name", framework_survivor.FRAMEWORKS)
def test_a_framework_disturbed_ten_times_ends_as_if_it_had_not_been(
    controller_stack: Callable[..., Stack], namespace: Namespace, name: str
) -> None:
    framework_survivor.train_disturbed(controller_stack(), namespace, name, times=10)


@pytest.mark.soak
def test_a_deleted_pod_comes_back_to_the_others(
    controller_stack: Callable[..., Stack], namespace: Namespace, tmp_path: Path
) -> None:
    found = train_with_deleted_pods(controller_stack(), namespace, tmp_path)
    assert found == pytest.approx(undisturbed(), rel=1e-3)


@pytest.mark.soak
def test_ended_by_its_deadline_and_retried_it_goes_on(
    controller_stack: Callable[..., Stack], namespace: Namespace
) -> None:
    train_to_deadlines(controller_stack(), namespace)


@pytest.mark.soak
@ONE_HOUR
def test_killed_fifty_times_by_force_it_goes_on(
    controller_stack: Callable[..., Stack], namespace: Namespace
) -> None:
    strike_on_a_cluster(controller_stack(), namespace, 50)
