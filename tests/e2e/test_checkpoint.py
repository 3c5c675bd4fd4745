"""A training that saves goes on where it was, however a cluster disturbs it."""

import pytest

from tests.deploy.project import Stack
from tests.e2e import framework_survivor
from tests.e2e.cluster import Namespace
from tests.e2e.killed_by_force import ONE_HOUR
from tests.e2e.survivor import DISTURBANCES, train_disturbed, train_to_deadlines


@pytest.mark.parametrize("how", DISTURBANCES)
def test_a_disturbed_run_is_complete_with_what_an_undisturbed_one_has(
    cluster_stack: Stack, namespace: Namespace, how: str
) -> None:
    train_disturbed(cluster_stack, namespace, DISTURBANCES[how])


@pytest.mark.soak
@pytest.mark.parametrize("how", DISTURBANCES)
def test_disturbed_more_often_than_a_job_replaces_pods_it_is_complete(
    cluster_stack: Stack, namespace: Namespace, how: str
) -> None:
    train_disturbed(cluster_stack, namespace, DISTURBANCES[how], times=8)


@pytest.mark.soak
@ONE_HOUR
@pytest.mark.parametrize("name", framework_survivor.FRAMEWORKS)
def test_a_framework_disturbed_ten_times_ends_as_if_it_had_not_been(
    cluster_stack: Stack, namespace: Namespace, name: str
) -> None:
    framework_survivor.train_disturbed(cluster_stack, namespace, name, times=10)


@pytest.mark.soak
def test_ended_by_its_deadline_and_retried_it_goes_on(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    train_to_deadlines(cluster_stack, namespace)
