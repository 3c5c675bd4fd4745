"""Trainings by torch, JAX and XGBoost in pods that are deleted, evicted and suspended end as if they had not been."""

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.framework_survivor import FRAMEWORKS, train_disturbed


@pytest.mark.soak
@pytest.mark.parametrize("name", FRAMEWORKS)
def test_disturbed_ten_times_it_ends_as_if_it_had_not_been(
    cluster_stack: Stack, namespace: Namespace, name: str
) -> None:
    train_disturbed(cluster_stack, namespace, name, times=10)
